"""Where MCP clients keep their settings, and what an entry in them looks like."""

import os
import sys
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

NAME = "memai"


class Client(NamedTuple):
    """One client: its file of servers, and its file of hooks where it has some.

    `servers` is the key that holds the servers; `typed` whether an entry names its transport;
    `hook_output` what a session-start hook writes for the agent to see it, None without hooks.
    """

    name: str
    path: str
    servers: str
    format: Literal["json", "toml"] = "json"
    typed: bool = False
    hooks: str | None = None
    hook_output: Literal["text", "json"] | None = None
    matcher: str | None = None
    advice: str = "Start it anew to see the tools."


def clients(environ: Mapping[str, str] | None = None) -> dict[str, Client]:
    """Return the clients by name, with the paths they have for this user on this machine."""
    env = os.environ if environ is None else environ
    home = os.path.expanduser("~")
    claude = env.get("CLAUDE_CONFIG_DIR")
    codex = env.get("CODEX_HOME") or os.path.join(home, ".codex")
    found = (
        Client(
            "claude-code",
            os.path.join(claude or home, ".claude.json"),
            "mcpServers",
            typed=True,
            hooks=os.path.join(claude or os.path.join(home, ".claude"), "settings.json"),
            hook_output="text",
        ),
        Client(
            "claude-desktop",
            os.path.join(_applications(env), "Claude", "claude_desktop_config.json"),
            "mcpServers",
        ),
        Client(
            "codex",
            os.path.join(codex, "config.toml"),
            "mcp_servers",
            format="toml",
            hooks=os.path.join(codex, "hooks.json"),
            hook_output="text",
            matcher="startup|resume|clear",
            advice="Start it anew, and trust the hook when it asks.",
        ),
        Client("cursor", os.path.join(home, ".cursor", "mcp.json"), "mcpServers"),
        Client(
            "vscode",
            os.path.join(_applications(env), "Code", "User", "mcp.json"),
            "servers",
            typed=True,
        ),
        Client(
            "gemini",
            os.path.join(home, ".gemini", "settings.json"),
            "mcpServers",
            hooks=os.path.join(home, ".gemini", "settings.json"),
            hook_output="json",
        ),
    )
    return {client.name: client for client in found}


def _applications(env: Mapping[str, str]) -> str:
    """Return the folder where programs with windows keep their settings."""
    home = os.path.expanduser("~")
    if sys.platform == "darwin":
        return os.path.join(home, "Library", "Application Support")
    if sys.platform == "win32":
        return env.get("APPDATA") or os.path.join(home, "AppData", "Roaming")
    return env.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")


def program() -> list[str]:
    """Return how to start memai from anywhere: absolute, whatever PATH a client has."""
    started = os.path.abspath(sys.argv[0])
    if os.path.basename(started) == NAME and os.access(started, os.X_OK):
        return [started]
    beside = os.path.join(os.path.dirname(os.path.abspath(sys.executable)), NAME)
    if os.access(beside, os.X_OK):
        return [beside]
    return [os.path.abspath(sys.executable), "-m", NAME]


def entry(
    client: Client, arguments: list[str], env: Mapping[str, str], known: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the entry of a server; what a person added to a known one stays."""
    command, *start = program()
    made: dict[str, Any] = {**known}
    if client.typed:
        made["type"] = "stdio"
    made |= {"command": command, "args": [*start, *arguments]}
    kept = known.get("env")
    others = kept if isinstance(kept, dict) else {}
    both = {**{k: v for k, v in others.items() if not k.startswith("MEMAI_")}, **env}
    made.pop("env", None)
    if both:
        made["env"] = both
    return made
