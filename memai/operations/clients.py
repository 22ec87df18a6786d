"""Where MCP clients on this machine look for memories: a client of another store misses these."""

import json
import os
from collections.abc import Iterator
from typing import Any

from memai.errors import MemaiError
from memai.records import Finding
from memai.settings import Settings, resolve

# Where clients keep their servers, below the home folder, by each client's own manual.
_FILES = (
    ".claude.json",
    ".config/Claude/claude_desktop_config.json",
    "Library/Application Support/Claude/claude_desktop_config.json",
    ".cursor/mcp.json",
    ".config/Code/User/mcp.json",
    "Library/Application Support/Code/User/mcp.json",
    ".codeium/windsurf/mcp_config.json",
    ".gemini/settings.json",
    ".codex/config.toml",
    ".config/opencode/opencode.json",
)
_LARGEST = 10 << 20


def elsewhere(settings: Settings) -> Iterator[Finding]:
    """Yield the clients whose memai server uses another store than this one."""
    ours = os.path.realpath(settings.path)
    for name in _FILES:
        path = os.path.join(os.path.expanduser("~"), name)
        for server in _servers(_read(path)):
            theirs = _store_of(server)
            if theirs is not None and os.path.realpath(theirs) != ours:
                yield Finding(
                    "advice",
                    "other-store",
                    f"{path} starts memai with the store {theirs}, not {settings.path}.",
                    "Set MEMAI_DB there and here to the same file",
                )


def unstartable() -> Iterator[Finding]:
    """Yield the clients that find memai only with the right PATH, which they may not have."""
    for name in _FILES:
        path = os.path.join(os.path.expanduser("~"), name)
        for words, _ in _servers(_read(path)):
            if not (os.path.isabs(words[0]) and os.access(words[0], os.X_OK)):
                yield Finding(
                    "advice",
                    "client-command",
                    f"{path} starts memai by '{words[0]}', which is no absolute path of a program.",
                    "memai setup CLIENT",
                )


def _read(path: str) -> Any:
    """Return a configuration as objects, None if there is none that can be read."""
    try:
        if os.path.getsize(path) > _LARGEST:
            return None
        with open(path, "rb") as file:
            if path.endswith(".toml"):
                import tomllib

                return tomllib.load(file)
            return json.load(file)
    except (OSError, ValueError, RecursionError):
        return None


def _servers(value: Any) -> Iterator[tuple[list[str], dict[str, str]]]:
    """Yield command line and environment of every memai server in a configuration."""
    if isinstance(value, list):
        for item in value:
            yield from _servers(item)
    if not isinstance(value, dict):
        return
    command = value.get("command")
    words = [command] if isinstance(command, str) else command
    if isinstance(words, list) and words:
        arguments = value.get("args")
        words = [str(w) for w in [*words, *(arguments if isinstance(arguments, list) else [])]]
        if any(os.path.basename(word) == "memai" for word in words):
            given = value.get("env") or value.get("environment")
            environment = given if isinstance(given, dict) else {}
            yield words, {str(k): str(v) for k, v in environment.items()}
            return
    for item in value.values():
        yield from _servers(item)


def _store_of(server: tuple[list[str], dict[str, str]]) -> str | None:
    """Return the store that a server started like this uses."""
    words, environment = server
    named = None
    for word, following in zip(words, [*words[1:], ""], strict=True):
        if word == "--db":
            named = following
        elif word.startswith("--db="):
            named = word[5:]
    try:
        return resolve(named, environment).path
    except MemaiError:
        return None
