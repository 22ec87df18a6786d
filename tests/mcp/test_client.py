"""The client of the SDK against a real server, in both eras, over pipes and over HTTP."""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import mcp_types
import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_support import serving
from support import CHECKOUT

from memai.mcp import Profile
from memai.mcp.schemas import tools
from memai.mcp.web import TOKEN_NAME
from memai.settings import resolve

ERAS = ["legacy", "2026-07-28"]
Connect = Callable[..., Any]


@pytest.fixture(params=["stdio", "http"])
def transport(request: pytest.FixtureRequest) -> str:
    """Run a test over both transports."""
    name: str = request.param
    return name


@pytest.fixture
def connect(transport: str, start: Any) -> Connect:
    """Connect a client of the SDK to a new server."""

    @asynccontextmanager
    async def over_pipes(options: dict[str, Any], client: dict[str, Any]) -> AsyncIterator[Client]:
        command, *args = serving(**options)
        parameters = StdioServerParameters(
            command=command, args=args, env={**os.environ, "PYTHONPATH": str(CHECKOUT)}
        )
        async with Client(parameters, **client) as connected:
            yield connected

    @asynccontextmanager
    async def over_http(options: dict[str, Any], client: dict[str, Any]) -> AsyncIterator[Client]:
        url, token = served(start, **options)
        headers = {"Authorization": f"Bearer {token}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=30) as http,
            Client(streamable_http_client(url, http_client=http), **client) as connected,
        ):
            yield connected

    def begin(options: dict[str, Any] | None = None, **client: Any) -> Any:
        kind = over_http if transport == "http" else over_pipes
        information = mcp_types.Implementation(name="the-client", version="1")
        return kind(options or {}, {"client_info": information, **client})

    return begin


def served(start: Any, **options: Any) -> tuple[str, str]:
    """Start a server over HTTP on a free port and return its address and token."""
    server = start(shake=False, http="127.0.0.1:0", **options, popen={"stdin": subprocess.DEVNULL})
    deadline = time.monotonic() + 20
    while not (found := re.search(rb"(http://\S+/mcp)", server.errors)):
        assert server.process.poll() is None, server.errors
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return found[1].decode(), Path(resolve().home, TOKEN_NAME).read_text().strip()


def text_of(result: Any) -> str:
    """Return the text of a result or message."""
    text: str = result.content[0].text
    return text


@pytest.mark.parametrize("mode", ERAS)
def test_a_client_lives_a_day(connect: Connect, mode: str) -> None:
    """Resume, search, save, correct, relate, hand over and retire, as a client of the SDK."""

    async def day() -> None:
        async with connect(mode=mode) as client:
            assert "call pulse" in (client.instructions or "") or mode != "legacy"
            listed = (await client.list_tools()).tools
            assert [tool.name for tool in listed] == [t["name"] for t in tools(Profile())]
            assert all(tool.output_schema is None for tool in listed)

            pulse = await client.call_tool("pulse", {"domain": "shop"})
            assert "No checkpoint yet" in text_of(pulse)
            first = await client.call_tool(
                "note", {"content": "Staging resets its database every night.", "domain": "shop"}
            )
            uid = first.structured_content["uid"]
            assert first.structured_content["memory"]["agent"] == "the-client"
            found = await client.call_tool(
                "search", {"query": "when is the test database wiped", "domain": "shop"}
            )
            assert found.structured_content["hits"][0]["uid"] == uid
            assert "Staging resets" in text_of(found)
            await client.call_tool("edit", {"uid": uid, "content": "Staging resets at 02:00."})
            pitfall = await client.call_tool(
                "anti_pattern", {"pattern": "Test on staging at night", "domain": "shop"}
            )
            other = pitfall.structured_content["uid"]
            await client.call_tool(
                "link", {"uid": other, "relation": "relates_to", "other": uid, "note": "why"}
            )
            await client.call_tool(
                "checkpoint", {"intent": "Ship login", "pursuing": "tokens", "domain": "shop"}
            )
            await client.call_tool("handoff", {"content": "Templates next.", "domain": "shop"})
            pulse = await client.call_tool("pulse", {"domain": "shop"})
            assert "Ship login" in text_of(pulse)
            assert "Templates next." in text_of(pulse)
            shown = await client.call_tool("show", {"uid": uid})
            assert shown.structured_content["memory"]["version"] == 2
            assert len(shown.structured_content["relations"]) == 1
            gone = await client.call_tool("forget", {"uids": [uid], "reason": "no longer"})
            assert gone.structured_content["memories"][0]["status"] == "archived"
            wrong = await client.call_tool("search", {"query": "x", "top_k": 3})
            assert wrong.is_error
            assert "'limit'" in text_of(wrong)

    anyio.run(day)


@pytest.mark.parametrize("mode", ERAS)
def test_resources_prompts_and_completion(connect: Connect, mode: str) -> None:
    """A memory and the pulse can be attached, prompts filled in, and arguments completed."""

    async def look() -> None:
        async with connect(mode=mode) as client:
            for domain in ("shop", "shop/PROJ-7", "garden"):
                await client.call_tool("note", {"content": f"About {domain}.", "domain": domain})
            listed = await client.call_tool("list", {"limit": 1})
            uid = listed.structured_content["memories"][0]["uid"]
            resources = (await client.list_resources()).resources
            assert [str(resource.uri) for resource in resources] == ["memai://pulse"]
            templates = (await client.list_resource_templates()).resource_templates
            assert [template.uri_template for template in templates] == [
                "memai://memory/{uid}",
                "memai://pulse/{domain}",
            ]

            async def read(uri: str) -> str:
                contents = (await client.read_resource(uri)).contents
                text: str = contents[0].text
                return text

            assert "About garden." in await read("memai://pulse")
            inside = await read("memai://pulse/shop%2FPROJ-7")
            assert "About shop/PROJ-7." in inside
            assert "About garden." not in inside
            assert "About shop/PROJ-7." in await read("memai://pulse/shop/PROJ-7")
            assert "About garden." in await read(f"memai://memory/{uid}")
            for uri in ("memai://memory/0000000000", "memai://nothing", "file:///etc/passwd"):
                with pytest.raises(MCPError) as caught:
                    await read(uri)
                assert caught.value.error.code == -32602
                assert caught.value.error.data["uri"] == uri

            prompts = (await client.list_prompts()).prompts
            assert [prompt.name for prompt in prompts] == ["resume", "wrap_up"]
            resume = await client.get_prompt("resume", {"domain": "garden"})
            assert "About garden." in resume.messages[0].content.text
            assert "About shop." not in resume.messages[0].content.text
            wrap_up = await client.get_prompt("wrap_up")
            assert "checkpoint" in wrap_up.messages[0].content.text
            for name, arguments in (("nothing", {}), ("resume", {"project": "x"})):
                with pytest.raises(MCPError):
                    await client.get_prompt(name, arguments)

            async def complete(ref: Any, name: str, value: str) -> list[str]:
                argument = {"name": name, "value": value}
                values: list[str] = (await client.complete(ref, argument)).completion.values
                return values

            prompt = mcp_types.PromptReference(type="ref/prompt", name="resume")
            assert await complete(prompt, "domain", "SH") == ["shop/PROJ-7", "shop"]
            assert await complete(prompt, "topic", "") == []
            memory = mcp_types.ResourceTemplateReference(
                type="ref/resource", uri="memai://memory/{uid}"
            )
            assert await complete(memory, "uid", uid[:3]) == [uid]
            assert len(await complete(memory, "uid", "")) == 3
            assert await complete(memory, "uid", "zzzz") == []

    anyio.run(look)


@pytest.mark.parametrize("mode", ERAS)
def test_a_person_is_asked_before_a_memory_is_erased(connect: Connect, mode: str) -> None:
    """A client that can ask asks a person, who types the phrase; anything else erases nothing."""
    asked: list[str] = []
    replies = iter(["decline", "cancel", "yes", "the phrase"])

    async def answer(_context: Any, parameters: Any) -> mcp_types.ElicitResult:
        asked.append(parameters.message)
        phrase = "DELETE " + parameters.message.split("DELETE ")[1].strip()
        reply = next(replies)
        if reply in ("decline", "cancel"):
            return mcp_types.ElicitResult(action=reply)
        content = {"confirm": phrase if reply == "the phrase" else reply}
        return mcp_types.ElicitResult(action="accept", content=content)

    async def purge() -> None:
        async with connect({"allow_purge": True}, mode=mode, elicitation_callback=answer) as client:
            written = await client.call_tool("note", {"content": "The secret of the mill."})
            uid = written.structured_content["uid"]
            # Even the right phrase from the agent does not stand for the person's word.
            call = {"uid": uid, "confirm": f"DELETE {uid}"}
            codes = []
            for _ in range(3):
                result = await client.call_tool("purge", call)
                assert result.is_error
                codes.append(result.structured_content["error"]["code"])
                assert not (await client.call_tool("show", {"uid": uid})).is_error
            assert codes == ["refused", "refused", "confirmation-needed"]
            assert not (await client.call_tool("purge", call)).is_error
            assert (await client.call_tool("show", {"uid": uid})).is_error
            assert all(uid in question for question in asked)
            assert all("The secret of the mill." in question for question in asked)
            missing = await client.call_tool("purge", {"uid": "0000000000"})
            assert missing.structured_content["error"]["code"] == "no-such-memory"
            assert len(asked) == 4

    anyio.run(purge)


@pytest.mark.parametrize("transport", ["stdio"], indirect=True)
@pytest.mark.parametrize("mode", ERAS)
def test_the_phrase_is_enough_where_nobody_can_be_asked(connect: Connect, mode: str) -> None:
    """A client without that capability says the phrase in the call."""

    async def purge() -> None:
        async with connect({"allow_purge": True}, mode=mode) as client:
            written = await client.call_tool("note", {"content": "Gone soon."})
            uid = written.structured_content["uid"]
            refused = await client.call_tool("purge", {"uid": uid})
            assert refused.structured_content["error"]["code"] == "confirmation-needed"
            done = await client.call_tool("purge", {"uid": uid, "confirm": f"DELETE {uid}"})
            assert not done.is_error

    anyio.run(purge)


@pytest.mark.parametrize("transport", ["stdio"], indirect=True)
def test_a_client_that_fails_to_ask_erases_nothing(connect: Connect) -> None:
    """Where asking ends in an error, the answer says so and how a person can do it."""

    async def broken(_context: Any, _parameters: Any) -> mcp_types.ErrorData:
        return mcp_types.ErrorData(code=-32000, message="no window to ask in")

    async def purge() -> None:
        async with connect(
            {"allow_purge": True}, mode="legacy", elicitation_callback=broken
        ) as client:
            written = await client.call_tool("note", {"content": "Stays."})
            uid = written.structured_content["uid"]
            result = await client.call_tool("purge", {"uid": uid, "confirm": f"DELETE {uid}"})
            assert result.structured_content["error"]["code"] == "refused"
            assert "no window to ask in" in text_of(result)
            assert not (await client.call_tool("show", {"uid": uid})).is_error

    anyio.run(purge)


def test_parallel_writes_of_one_client_are_all_kept(connect: Connect) -> None:
    """Twenty writes at once through one client: each is answered, each is found."""

    async def write() -> None:
        async with connect(mode="legacy") as client:
            uids: list[str] = []

            async def one(number: int) -> None:
                result = await client.call_tool("note", {"content": f"Parallel {number}."})
                uids.append(result.structured_content["uid"])

            async with anyio.create_task_group() as group:
                for number in range(20):
                    group.start_soon(one, number)
            assert len(set(uids)) == 20
            listed = await client.call_tool("list", {"limit": 50, "max_bytes": 60_000})
            assert {m["uid"] for m in listed.structured_content["memories"]} == set(uids)

    anyio.run(write)


def test_the_command_serves_too(home: Any) -> None:
    """`memai serve-mcp` is the same server, with its options."""

    async def look() -> None:
        parameters = StdioServerParameters(
            command=sys.executable,
            args=[
                "-m",
                "memai",
                "serve-mcp",
                "--tools",
                "all",
                "--prefix",
                "memai_",
                "--read-only",
            ],
            env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
        )
        async with Client(parameters, mode="legacy") as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            assert names == [t["name"] for t in tools(Profile("all", "memai_", read_only=True))]
            refused = await client.call_tool("memai_note", {"content": "x"})
            assert refused.structured_content["error"]["code"] == "refused"

    anyio.run(look)


@pytest.mark.parametrize("transport", ["stdio"], indirect=True)
def test_structured_content_is_an_object_and_text_is_one_block(connect: Connect) -> None:
    """Strict clients get an object, and never a text that is the object again."""

    async def look() -> None:
        async with connect({"tools": "all"}, mode="legacy") as client:
            await client.call_tool("note", {"content": "One."})
            for name in ("list", "pulse", "domains", "stats", "doctor", "duplicates"):
                result = await client.call_tool(name, {})
                assert isinstance(result.structured_content, dict), name
                assert len(result.content) == 1
                with pytest.raises(json.JSONDecodeError):
                    json.loads(text_of(result))

    anyio.run(look)
