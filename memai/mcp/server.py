"""The server itself: requests of the protocol to calls in worker threads, and back."""

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from memai.errors import MemaiError
from memai.mcp.calls import Calls
from memai.mcp.instructions import instructions
from memai.mcp.sdk import Sdk
from memai.records import Caller
from memai.settings import name_of
from memai.vocabulary import NO_DOMAIN

# Threads, each with a connection of its own. Writers wait in line for one another anyhow, and must
# not take the place of readers, who wait for nobody.
_READERS, _WRITERS = 4, 2
_INVALID_PARAMS, _INTERNAL_ERROR = -32602, -32603

# Lists are the same as long as a server lives, a resource is as old as it is read.
_FOR_AN_HOUR = ("tools/list", "resources/list", "resources/templates/list", "prompts/list")
_NOT_AT_ALL = ("resources/read",)


class Backend:
    """One store for any number of connections: who calls, and the threads that do the work."""

    def __init__(self, calls: Calls, sdk: Sdk) -> None:
        self.calls = calls
        self.sdk = sdk
        self._readers = ThreadPoolExecutor(_READERS, thread_name_prefix="memai-read")
        self._writers = ThreadPoolExecutor(_WRITERS, thread_name_prefix="memai-write")
        self._writing: frozenset[str] | None = None
        self._session = "mcp-" + os.urandom(5).hex()

    async def do(self, function: Any, *arguments: Any, writes: bool = False) -> Any:
        """Run a function in a worker thread."""
        import asyncio

        threads = self._writers if writes else self._readers
        return await asyncio.get_running_loop().run_in_executor(threads, function, *arguments)

    async def tool(self, name: str, arguments: Any, caller: Caller) -> Any:
        """Call a tool, whose faults are answers too."""
        if self._writing is None:  # once: each way to a thread and back takes 0.1 ms
            self._writing = await self.do(self.calls.writing)
        writes = name.removeprefix(self.calls.profile.prefix) in self._writing
        return await self.do(self.calls.tool, name, arguments, caller, writes=writes)

    async def ask(self, function: Any, *arguments: Any, **data: str) -> Any:
        """Run a function for a request whose faults are errors of the protocol."""
        try:
            return await self.do(function, *arguments)
        except Exception as error:  # noqa: BLE001 - the SDK would send what it says, paths and all
            from memai.mcp.answers import known

            expected = isinstance(error, MemaiError)
            fault = known(error, "the request")
            code = _INVALID_PARAMS if expected else _INTERNAL_ERROR
            raise self.sdk.error(code, fault.message, {**data, "code": fault.code}) from None

    def warm(self) -> None:
        """Read the model in the background, and embed what has no vectors yet."""
        self._readers.submit(self.calls.warm, Caller(remote=True))
        if not self.calls.profile.read_only:
            self._writers.submit(self.calls.backfill, Caller(remote=True))

    def caller(self, context: Any) -> Caller:
        """Return who is at the other end: the client's name, unless MEMAI_AGENT says another."""
        settings = self.calls.settings
        parameters = context.session.client_params
        client = parameters.client_info.name if parameters is not None else ""
        return Caller(
            agent=name_of(settings.agent or client) or "mcp",
            session=name_of(settings.session) or self._session_of(context.request),
            domain=None if settings.domain == NO_DOMAIN else settings.domain,
            remote=True,
            domain_from="MEMAI_DOMAIN" if settings.domain else None,
        )

    def _session_of(self, request: Any) -> str:
        """Return the name of a connection.

        Over HTTP each has an id that must not be in the store: whoever knows it can use it.
        """
        id = request.headers.get("mcp-session-id") if request is not None else None
        if not id:
            return self._session
        import hashlib

        return "mcp-" + hashlib.sha256(id.encode()).hexdigest()[:10]


def build(sdk: Sdk, backend: Backend) -> Any:
    """Return the SDK's server with our answers."""
    calls = backend.calls

    async def list_tools(_context: Any, _parameters: Any) -> dict[str, Any]:
        return _final({"tools": await backend.ask(calls.tools)})

    async def call_tool(context: Any, parameters: Any) -> dict[str, Any]:
        from memai.mcp import asking

        name, arguments = parameters.name, parameters.arguments
        caller = backend.caller(context)
        if asking.wanted(calls.profile, name, arguments, context):
            return _final(await asking.purge(backend, context, parameters, caller))
        return _final(await backend.tool(name, arguments, caller))

    async def list_resources(_context: Any, _parameters: Any) -> dict[str, Any]:
        from memai.mcp.resources import RESOURCES

        return _final({"resources": RESOURCES})

    async def list_templates(_context: Any, _parameters: Any) -> dict[str, Any]:
        from memai.mcp.resources import TEMPLATES

        return _final({"resourceTemplates": TEMPLATES})

    async def read_resource(context: Any, parameters: Any) -> dict[str, Any]:
        uri = str(parameters.uri)
        return _final(await backend.ask(calls.resource, uri, backend.caller(context), uri=uri))

    async def list_prompts(_context: Any, _parameters: Any) -> dict[str, Any]:
        from memai.mcp.prompts import PROMPTS

        return _final({"prompts": PROMPTS})

    async def get_prompt(context: Any, parameters: Any) -> dict[str, Any]:
        name, arguments = parameters.name, parameters.arguments
        return _final(await backend.ask(calls.prompt, name, arguments, backend.caller(context)))

    async def complete(context: Any, parameters: Any) -> dict[str, Any]:
        name, begun = parameters.argument.name, parameters.argument.value
        return _final(await backend.ask(calls.completion, name, begun, backend.caller(context)))

    server = sdk.server(
        "memai",
        version=_version(),
        instructions=instructions(calls.profile),
        cache_hints={
            **dict.fromkeys(_FOR_AN_HOUR, sdk.cache_hint(3_600_000, "private")),
            **dict.fromkeys(_NOT_AT_ALL, sdk.cache_hint(0, "private")),
        },
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
        on_completion=complete,
    )
    server.middleware.clear()  # nothing is reported anywhere
    return server


def _final(answer: dict[str, Any]) -> dict[str, Any]:
    """Mark an answer that is not an interim one, as the later protocol wants it."""
    return {"resultType": "complete", **answer}


def _version() -> str:
    from importlib import metadata

    try:
        return metadata.version("memai")
    except metadata.PackageNotFoundError:  # run from a source tree
        return "0"
