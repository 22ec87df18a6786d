"""Serving over standard input and output: the wire, the life cycle, the end.

The SDK's own transport drops what it cannot parse, loses the answers of calls that run when the
input ends, and outlives its client. Here each line that comes in is answered, the input's end waits
for what is running, and the server goes when the client goes.
"""

import contextlib
import os
import signal
import sys
from typing import Any, NoReturn

from memai.errors import UsageError
from memai.mcp import Profile
from memai.mcp.wire import Reader, Writer
from memai.settings import Settings

# Seconds for calls in flight once the end is near, and between looks whether the client is there.
GRACE = 4.5
_LOOK = 1.0
_INTERRUPTED = 130


def run(settings: Settings, profile: Profile) -> NoReturn:
    """Serve until the client leaves; ends the process with the exit code.

    Ending here and not by returning: a thread may still be waiting for a lock, and what it has not
    committed is rolled back by the next process that opens the store.
    """
    incoming, outgoing = _take_wire()
    parent = os.getppid()
    for number, code in _ENDS.items():
        with contextlib.suppress(ValueError):  # not in the main thread: a test
            signal.signal(number, lambda *_, code=code: _end(code))

    from memai.mcp import sdk

    loaded = sdk.load()

    import anyio

    from memai.mcp.calls import Calls
    from memai.mcp.server import Backend, build

    backend = Backend(Calls(settings, profile), loaded)
    server = build(loaded, backend)
    code = 1
    try:
        code = anyio.run(_serve, loaded, server, backend, incoming, outgoing, parent)
    except BaseException as error:  # noqa: BLE001 - the last frame before the process ends
        if os.environ.get("MEMAI_DEBUG"):
            import traceback

            traceback.print_exception(error)
        else:
            sys.stderr.write(f"memai: the server ended unexpectedly ({type(error).__name__}).\n")
    _end(code)


_ENDS = {
    signal.SIGINT: _INTERRUPTED,
    signal.SIGTERM: 0,
    **({signal.SIGHUP: 0} if hasattr(signal, "SIGHUP") else {}),
}


def _take_wire() -> tuple[int, int]:
    """Move the protocol to descriptors of its own.

    From now on what any module, thread or child prints goes to standard error, and reading standard
    input gives nothing. Raises UsageError where one of them is closed.
    """
    if sys.__stdin__ is None or sys.__stdout__ is None:
        raise UsageError(
            reason="serve-mcp speaks over standard input and output, and one of them is closed."
        )
    incoming, outgoing = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    try:
        os.dup2(2, 1)
    except OSError:  # standard error is closed
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, 1)
        os.close(nothing)
    return incoming, outgoing


async def _serve(
    sdk: Any, server: Any, backend: Any, incoming: int, outgoing: int, parent: int
) -> int:
    """Serve one connection; return the exit code."""
    import asyncio
    import math

    import anyio

    loop = asyncio.get_running_loop()
    ended: asyncio.Future[int] = loop.create_future()

    def end(code: int) -> None:
        if not ended.done():
            ended.set_result(code)

    for number, code in _ENDS.items():
        with contextlib.suppress(NotImplementedError, RuntimeError):  # Windows
            loop.add_signal_handler(number, end, code)

    to_server, from_client = anyio.create_memory_object_stream[Any](math.inf)
    to_client, from_server = anyio.create_memory_object_stream[Any](math.inf)
    writer = Writer(outgoing, lambda: loop.call_soon_threadsafe(end, 0))
    reader = Reader(incoming, sdk, writer)

    async def outwards() -> None:
        first = True
        async for message in from_server:
            writer.send(message.message)
            if first:
                first = False
                backend.warm()

    async def alive() -> None:
        while os.getppid() == parent and not writer.closed():  # noqa: ASYNC110 - nobody tells
            await anyio.sleep(_LOOK)
        end(0)

    reader.start(
        lambda message: loop.call_soon_threadsafe(to_server.send_nowait, message),
        lambda: loop.call_soon_threadsafe(end, 0),
    )
    async with anyio.create_task_group() as group:
        group.start_soon(outwards)
        group.start_soon(alive)
        group.start_soon(server.run, from_client, to_client, server.create_initialization_options())
        code = await ended
        with anyio.move_on_after(GRACE):
            while writer.owed and not writer.broken:  # noqa: ASYNC110 - another thread's
                await anyio.sleep(0.01)
        writer.flush(1.0)
        group.cancel_scope.cancel()
        _end(code)
    return code


def _end(code: int) -> NoReturn:
    """End the process: nothing that is still running may hold it."""
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.flush()
    os._exit(code)
