"""The operations that a worker needs, done through the command line or an MCP server."""

import json
import subprocess
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

COMMAND = [sys.executable, "-m", "memai", "--db"]


class Written(NamedTuple):
    """What a worker reads of an answer."""

    uid: str


class Shell:
    """Each operation is a process of its own."""

    def __init__(self, db: str) -> None:
        self._command = [*COMMAND, db]

    def note(
        self, _: Any, content: str, *, key: str, tags: tuple[str, ...], domain: Any
    ) -> Written:
        """Add a memory."""
        options = ["--key", key, *(f"--tag={tag}" for tag in tags), "-d", domain or "-"]
        return Written(json.loads(self._run("note", "--json", *options, "--", content))["uid"])

    def edit(self, _: Any, uid: str, content: str) -> None:
        """Give a memory another text."""
        self._run("edit", uid, "--", content)

    def forget(self, _: Any, uids: tuple[str, ...]) -> None:
        """Archive memories."""
        self._run("forget", *uids)

    def restore(self, _: Any, uids: tuple[str, ...]) -> None:
        """Bring memories back."""
        self._run("restore", *uids)

    def link(self, _: Any, uid: str, relation: str, other: str, *, note: str) -> None:
        """Relate two memories."""
        self._run("link", uid, relation, other, "--note", note)

    def purge(self, _: Any, uid: str, *, confirm: str) -> None:
        """Erase a memory."""
        self._run("purge", uid, "--confirm", confirm)

    def _run(self, *words: str) -> str:
        done = subprocess.run([*self._command, *words], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{words} ended with {done.returncode}: {done.stderr}")
        return done.stdout


class Client:
    """Each operation is a call of a tool of one MCP server."""

    def __init__(self, db: str) -> None:
        self._server = subprocess.Popen(
            [*COMMAND, db, "serve-mcp", "--allow-purge"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._last = 0
        self._ask(
            "initialize",
            protocolVersion="2025-06-18",
            capabilities={},
            clientInfo={"name": "torture", "version": "1"},
        )
        self._say({"method": "notifications/initialized"})

    def note(self, _: Any, content: str, **more: Any) -> Written:
        """Add a memory."""
        more = {name: list(v) if isinstance(v, tuple) else v for name, v in more.items()}
        return Written(self._call("note", content=content, **more)["uid"])

    def edit(self, _: Any, uid: str, content: str) -> None:
        """Give a memory another text."""
        self._call("edit", uid=uid, content=content)

    def forget(self, _: Any, uids: tuple[str, ...]) -> None:
        """Archive memories."""
        self._call("forget", uids=list(uids))

    def restore(self, _: Any, uids: tuple[str, ...]) -> None:
        """Bring memories back."""
        self._call("restore", uids=list(uids))

    def link(self, _: Any, uid: str, relation: str, other: str, *, note: str) -> None:
        """Relate two memories."""
        self._call("link", uid=uid, relation=relation, other=other, note=note)

    def purge(self, _: Any, uid: str, *, confirm: str) -> None:
        """Erase a memory."""
        self._call("purge", uid=uid, confirm=confirm)

    def all_at_once(self, calls: Sequence[tuple[str, dict[str, Any]]]) -> list[dict[str, Any]]:
        """Send calls without waiting for answers; return the answers, in any order."""
        wanted = set()
        for tool, arguments in calls:
            self._last += 1
            wanted.add(self._last)
            params = {"name": tool, "arguments": arguments}
            self._say({"id": self._last, "method": "tools/call", "params": params})
        answers = []
        assert self._server.stdout is not None
        while wanted:
            answer = json.loads(self._server.stdout.readline())
            if answer.get("id") in wanted:
                wanted.remove(answer["id"])
                answers.append(answer["result"])
        return answers

    def close(self) -> None:
        """End the server as a client does."""
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.close()
        self._server.wait()
        self._server.stdout.close()

    def _call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        answer = self._ask("tools/call", name=tool, arguments=arguments)
        if answer.get("isError"):
            raise RuntimeError(f"{tool}: {answer}")
        found: dict[str, Any] = answer["structuredContent"]
        return found

    def _ask(self, method: str, **params: Any) -> dict[str, Any]:
        self._last += 1
        self._say({"id": self._last, "method": method, "params": params})
        assert self._server.stdout is not None
        for line in self._server.stdout:
            answer = json.loads(line)
            if answer.get("id") == self._last:
                result: dict[str, Any] = answer["result"]
                return result
        raise RuntimeError("the server ended")

    def _say(self, message: dict[str, Any]) -> None:
        assert self._server.stdin is not None
        self._server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self._server.stdin.flush()
