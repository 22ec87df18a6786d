"""Lines in and out: what a client sends is parsed or answered with what is wrong with it."""

import json
import os
import queue
import re
import threading
from collections.abc import Callable, Iterator
from typing import Any

# A memory of a megabyte is at most six in JSON.
MAX_LINE = 8_000_000
_CHUNK = 65_536
_EDGE = 4_096

_PARSE_ERROR = -32700
_INVALID_REQUEST = -32600

_ID = rb'"id"\s*:\s*("[^"\\]{0,200}"|-?\d{1,18}(?![\d.eE]))'
_ID_FIRST = re.compile(rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?' + _ID)
_ID_LAST = re.compile(_ID + rb"\s*\}\s*$")


class Writer:
    """Writes messages in a thread of its own, so that a slow reader never holds the server.

    `owed` are the ids of requests that have no answer yet.
    """

    def __init__(self, descriptor: int, on_broken: Callable[[], Any]) -> None:
        self.owed: set[str | int] = set()
        self.broken = False
        self._descriptor = descriptor
        self._on_broken = on_broken
        self._queue: queue.SimpleQueue[tuple[bytes, Any] | threading.Event] = queue.SimpleQueue()
        threading.Thread(target=self._run, name="memai-out", daemon=True).start()

    def send(self, message: Any) -> None:
        """Write a message of the SDK after those before it."""
        request = getattr(message, "method", None) is not None
        self._queue.put((_line_of(message), None if request else getattr(message, "id", None)))

    def refuse(self, id: str | int | None, code: int, reason: str) -> None:
        """Answer a line that cannot be passed on."""
        error = {"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": reason}}
        self._queue.put((_encoded(error), id))

    def flush(self, seconds: float) -> None:
        """Wait until everything so far is written, but no longer than so many seconds."""
        done = threading.Event()
        self._queue.put(done)
        done.wait(seconds)

    def closed(self) -> bool:
        """Whether the client has closed its end, found without writing."""
        if self.broken:
            return True
        import select

        if not hasattr(select, "poll"):
            return False
        watch = select.poll()
        watch.register(self._descriptor, 0)  # errors and hang-ups are reported unasked
        return bool(watch.poll(0))

    def _run(self) -> None:
        while True:
            item = self._queue.get()
            if isinstance(item, threading.Event):
                item.set()
                continue
            line, answered = item
            try:
                _write_all(self._descriptor, line + b"\n")
            except OSError:
                self.broken = True
                self._on_broken()
            if answered is not None:
                self.owed.discard(answered)


class Reader:
    """Reads lines in a thread of its own and hands on what is a message."""

    def __init__(self, descriptor: int, sdk: Any, writer: Writer) -> None:
        self._descriptor = descriptor
        self._sdk = sdk
        self._writer = writer

    def start(self, deliver: Callable[[Any], Any], on_end: Callable[[], Any]) -> None:
        """Begin to read; `deliver` and `on_end` are called in the reading thread."""

        def run() -> None:
            try:
                for line in _lines(self._descriptor):
                    for message in self._messages(line):
                        deliver(message)
            except OSError:
                pass  # a terminal that is gone reads as an error: the same as its end
            on_end()

        threading.Thread(target=run, name="memai-in", daemon=True).start()

    def _messages(self, line: bytes | tuple[bytes, bytes]) -> Iterator[Any]:
        """Yield the messages of a line; what is none is answered here."""
        if isinstance(line, tuple):
            reason = f"The message is longer than {MAX_LINE:,} bytes. Send less at a time."
            self._writer.refuse(_find_id(*line), _INVALID_REQUEST, reason)
            return
        if not line.strip():
            return
        try:
            # Bytes that are no UTF-8 become lone surrogates, which are refused where they stand.
            decoded = json.loads(
                line.decode(errors="surrogateescape"), parse_constant=_not_a_number
            )
        except (ValueError, RecursionError) as error:
            self._writer.refuse(
                _find_id(line, line), _PARSE_ERROR, f"The line is not JSON: {_why(error)}."
            )
            return
        for item in decoded if isinstance(decoded, list) and decoded else [decoded]:
            message = self._message(item)
            if message is not None:
                yield message

    def _message(self, item: Any) -> Any:
        """Return one message for the SDK, or None after an answer."""
        id = item.get("id") if isinstance(item, dict) else None
        reason = "The message is no request, notification or response."
        if isinstance(id, bool) or not isinstance(id, str | int):
            id = None
            if isinstance(item, dict) and "id" in item and "method" in item:
                reason = "The id of a request is text or a whole number."
                item = None  # else it would pass for a notification, which nobody answers
        elif isinstance(id, str) and not _is_text(id):
            id, item = None, None  # it could not be given back as it came
            reason = "The id of the request holds half a character (a lone surrogate)."
        try:
            message = self._sdk.parse(item, by_name=False)
        except Exception:  # noqa: BLE001 - whatever a validator says, the client gets one sentence
            self._writer.refuse(id, _INVALID_REQUEST, reason)
            return None
        if id is not None and "method" in item:
            self._writer.owed.add(id)
        elif item.get("method") == "notifications/cancelled":
            # What is cancelled is not answered.
            cancelled = (item.get("params") or {}).get("requestId")
            if isinstance(cancelled, str | int):
                self._writer.owed.discard(cancelled)
        return self._sdk.session_message(message)


def _lines(descriptor: int) -> Iterator[bytes | tuple[bytes, bytes]]:
    """Yield lines; of one above the limit only its two ends, so that memory stays bounded."""
    kept, long = bytearray(), False
    while chunk := os.read(descriptor, _CHUNK):
        *whole, rest = chunk.split(b"\n")
        for part in whole:
            kept += part
            yield _line(kept, long=long or len(kept) > MAX_LINE)
            kept, long = bytearray(), False
        kept += rest
        if len(kept) > MAX_LINE:
            long = True
            del kept[_EDGE:-_EDGE]
    if kept:
        yield _line(kept, long=long)


def _line(kept: bytearray, *, long: bool) -> bytes | tuple[bytes, bytes]:
    return (bytes(kept[:_EDGE]), bytes(kept[-_EDGE:])) if long else bytes(kept)


def _line_of(message: Any) -> bytes:
    """Return a message of the SDK in JSON."""
    how = {"by_alias": True, "exclude_unset": True}
    try:
        line: str = message.model_dump_json(**how)
    except ValueError:  # it repeats half a character that it was sent
        return _encoded(message.model_dump(mode="json", **how))
    return line.encode()


def _encoded(message: dict[str, Any]) -> bytes:
    text = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
    return text.encode(errors="replace")


def _find_id(head: bytes, tail: bytes) -> str | int | None:
    """Return the id of a request that cannot be parsed, where it stands first or last."""
    found = _ID_FIRST.match(head[:_EDGE]) or _ID_LAST.search(tail[-_EDGE:])
    if found is None:
        return None
    id: str | int = json.loads(found[1].decode(errors="replace"))
    return id


def _is_text(value: str) -> bool:
    """Whether a text can be sent as it is."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _not_a_number(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _why(error: Exception) -> str:
    """Return what is wrong with a line, without the line."""
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at character {error.pos}"
    return str(error)[:80]


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
