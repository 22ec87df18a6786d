"""`memai setup`: writes memai into the settings of an MCP client, and takes it out again."""

import os
import re
import shlex
import sys
from typing import Annotated, Any, Literal, NamedTuple

from memai.errors import Refused
from memai.mcp import configuration
from memai.mcp.clients import NAME, Client, clients, entry, program
from memai.mcp.hook import BYTES, REMINDER
from memai.settings import STORE_NAME, Settings, expanded
from memai.vocabulary import DryRun, Param

ClientName = Literal[
    "claude-code", "claude-desktop", "codex", "cursor", "vscode", "gemini", "print"
]
Which = Annotated[ClientName, Param("The client; print only shows the entry.", positional=True)]
ToolList = Annotated[
    Literal["daily", "all"], Param("Which tools the client sees; the others work all the same.")
]
Prefix = Annotated[str, Param("Put this before each tool's name, as in memai_.")]
ReadOnly = Annotated[bool, Param("Refuse what changes anything.")]
Hook = Annotated[bool, Param("Show the pulse at the start of each session, where there are hooks.")]
Remind = Annotated[bool, Param("With it, a reminder of what to save before the session ends.")]
Remove = Annotated[bool, Param("Take memai out of the client's settings again.")]

# What a hook of memai's looks like, whoever wrote it and wherever it was installed.
_OURS = re.compile(
    r"""\bmemai['"]?( --db ('[^']*'|\S+))* pulse --max-bytes |\bmemai\.mcp\.hook\b"""
)
_EVENT = "SessionStart"


class SetUp(NamedTuple):
    """What setup answers; `shows` is the entry as it stands in the client's file."""

    client: str
    changed: bool
    path: str | None
    hook_path: str | None
    backups: tuple[str, ...]
    shows: str
    notes: tuple[str, ...] = ()


def setup(
    settings: Settings,
    client: Which,
    *,
    tools: ToolList = "daily",
    prefix: Prefix | None = None,
    read_only: ReadOnly = False,
    hook: Hook = True,
    remind: Remind = False,
    dry_run: DryRun = False,
    remove: Remove = False,
) -> SetUp:
    """Write memai into the settings of an MCP client, with absolute paths.

    The file is copied beside itself first; doing it twice changes nothing. Where the client has
    hooks, each session begins with the pulse.
    """
    arguments = ["serve-mcp"]
    arguments += ["--tools", tools] if tools != "daily" else []
    arguments += ["--prefix", prefix] if prefix else []
    arguments += ["--read-only"] if read_only else []
    if client == "print":
        shown = entry(Client("print", "", "mcpServers"), arguments, _environment(settings), {})
        return SetUp(client, False, None, None, (), _shown("mcpServers", shown))
    chosen = clients()[client]
    changes: dict[str, tuple[str, str]] = {}  # path: (text before, text after)
    made = _put_entry(changes, chosen, arguments, settings, remove=remove)
    if chosen.hooks:
        command = None if remove or not hook else _hook(chosen, settings, remind=remind)
        _put_hook(changes, chosen, command)
    changed = {path: texts for path, texts in changes.items() if texts[0] != texts[1]}
    notes = []
    if not os.path.isdir(os.path.dirname(chosen.path)):
        notes.append(f"There is no folder {os.path.dirname(chosen.path)}: is {client} installed?")
    copies: list[str] = []
    if dry_run:
        notes += [f"Would change {path}." for path in changed] or ["Nothing would change."]
    else:
        for path, (_, after) in changed.items():
            copy = configuration.write(path, after)
            copies += [copy] if copy else []
        notes.append(chosen.advice if changed else "Nothing to change.")
    return SetUp(
        client,
        bool(changed),
        chosen.path,
        chosen.hooks if hook else None,
        tuple(copies),
        _shown(chosen.servers, made) if made and chosen.format == "json" else _shown_toml(made),
        tuple(notes),
    )


def _shown_toml(made: dict[str, Any] | None) -> str:
    """Return an entry as it stands in a TOML file."""
    return configuration.with_table("", "mcp_servers", NAME, made, "") if made else ""


def _shown(servers: str, made: dict[str, Any]) -> str:
    return configuration.json_text({servers: {NAME: made}}, "")


def _put_entry(
    changes: dict[str, tuple[str, str]],
    client: Client,
    arguments: list[str],
    settings: Settings,
    *,
    remove: bool,
) -> dict[str, Any] | None:
    """Note the change of a client's servers; return the entry, None where it is taken out."""
    before = changes.get(client.path, (configuration.read(client.path),) * 2)
    known = _known(client, before[1])
    made = None
    if not remove:
        made = entry(client, arguments, _environment(settings), known or {})
    if made == known:
        return made
    if client.format == "toml":
        after = configuration.with_table(before[1], client.servers, NAME, made, client.path)
    else:
        whole = configuration.json_object(before[1], client.path)
        servers = {k: v for k, v in (whole.get(client.servers) or {}).items() if k != NAME}
        if made is not None:
            servers[NAME] = made
        after = configuration.json_text({**whole, client.servers: servers}, before[1])
    changes[client.path] = (before[0], after)
    return made


def _put_hook(changes: dict[str, tuple[str, str]], client: Client, command: str | None) -> None:
    """Note the change of a client's hooks: the one of memai, or (None) none of it."""
    path = client.hooks or ""
    before = changes.get(path, (configuration.read(path),) * 2)
    whole = configuration.json_object(before[1], path)
    hooks = whole.get("hooks") if isinstance(whole.get("hooks"), dict) else {}
    assert isinstance(hooks, dict)
    groups = [g for g in hooks.get(_EVENT) or [] if isinstance(g, dict)]
    present = [h.get("command") for g in groups for h in g.get("hooks") or [] if _is_ours(h)]
    if present == ([command] if command else []):
        return
    kept = [{**g, "hooks": [h for h in g.get("hooks") or [] if not _is_ours(h)]} for g in groups]
    kept = [group for group in kept if group["hooks"]]
    if command:
        made: dict[str, Any] = {"matcher": client.matcher} if client.matcher else {}
        kept.append({**made, "hooks": [{"type": "command", "command": command}]})
    after = {**hooks, _EVENT: kept}
    if not kept:
        del after[_EVENT]
    whole = {**whole, "hooks": after}
    if not after:
        del whole["hooks"]
    changes[path] = (before[0], configuration.json_text(whole, before[1]))


def _known(client: Client, text: str) -> dict[str, Any] | None:
    """Return memai's entry in a client's file; raises Refused for a file in another form."""
    if client.format == "toml":
        import tomllib

        try:
            whole = tomllib.loads(text)
        except tomllib.TOMLDecodeError:
            raise Refused(reason=f"{client.path} is no TOML. It was left untouched.") from None
    else:
        whole = configuration.json_object(text, client.path)
    servers = whole.get(client.servers)
    known = servers.get(NAME) if isinstance(servers, dict) else None
    return known if isinstance(known, dict) else None


def _is_ours(hook: Any) -> bool:
    return isinstance(hook, dict) and bool(_OURS.search(str(hook.get("command", ""))))


def _hook(client: Client, settings: Settings, *, remind: bool) -> str:
    """Return the command of a session-start hook."""
    elsewhere = settings.path != _store_of({})
    if client.hook_output == "json":
        words = [os.path.abspath(sys.executable), "-m", "memai.mcp.hook"]
        words += [settings.path] if elsewhere else []
        return shlex.join(words + (["--remind"] if remind else []))
    words = [*program(), *(["--db", settings.path] if elsewhere else [])]
    command = shlex.join([*words, "pulse", "--max-bytes", str(BYTES)])
    return f"{command}; echo {shlex.quote(REMINDER)}" if remind else command


def _environment(settings: Settings) -> dict[str, str]:
    """Return what a server must know to find the store that this shell uses."""
    env = {}
    if settings.home != expanded("~/.memai"):
        env["MEMAI_HOME"] = settings.home
    if settings.path != os.path.join(settings.home, STORE_NAME):
        env["MEMAI_DB"] = settings.path
    return env


def _store_of(env: dict[str, Any]) -> str:
    """Return the store that a server with this environment would use."""
    home = expanded(str(env.get("MEMAI_HOME") or "~/.memai"))
    return expanded(str(env.get("MEMAI_DB") or os.path.join(home, STORE_NAME)))
