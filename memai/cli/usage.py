"""What is wrong with a command line, in a sentence that says what to do instead."""

import click


def sentence(error: click.UsageError) -> str:
    """Return Click's complaint with where to read more."""
    message = error.format_message()
    if not message.endswith((".", "?", ")")):
        message += "."
    path = error.ctx.command_path if error.ctx is not None else "memai"
    hint = _hint(error, message)
    return f"{message} {hint}{' ' if hint else ''}See '{path} -h'."


def _hint(error: click.UsageError, message: str) -> str:
    """Return what is probably meant, where Click does not say it."""
    if isinstance(error, click.NoSuchOption) and " " not in error.option_name:
        return "" if "Did you mean" in message else "A text that begins with '-' goes after '--'."
    if "unexpected extra argument" in message:
        return "A text of several words goes in quotes."
    return ""


# What other programs call it.
SYNONYMS = {
    "add": "note",
    "save": "note",
    "store": "note",
    "remember": "note",
    "write": "note",
    "new": "note",
    "create": "note",
    "get": "show",
    "read": "show",
    "cat": "show",
    "view": "show",
    "open": "show",
    "rm": "forget",
    "delete": "forget",
    "remove": "forget",
    "archive": "forget",
    "del": "forget",
    "erase": "purge",
    "find": "search",
    "query": "search",
    "grep": "search",
    "ask": "search",
    "ls": "list",
    "log": "list",
    "recent": "list",
    "update": "edit",
    "modify": "edit",
    "change": "edit",
    "tag": "edit",
    "mv": "edit",
    "status": "stats",
    "info": "stats",
    "check": "doctor",
    "fsck": "doctor",
    "verify": "doctor",
    "undelete": "restore",
    "unforget": "restore",
    "undo": "restore",
    "unarchive": "restore",
    "dump": "export",
    "namespaces": "domains",
    "projects": "domains",
    "prime": "pulse",
    "resume": "pulse",
    "dedup": "duplicates",
    "dedupe": "duplicates",
    "history": "show",
    "relate": "link",
    "serve": "serve-mcp",
    "mcp": "serve-mcp",
    "server": "serve-mcp",
    "why": "reasoning",
    "antipattern": "anti_pattern",
    "man": "help",
}


def no_such_command(name: str, names: list[str]) -> str:
    """Say that there is no such command, and which one is probably meant."""
    wanted = name.lower()
    meant = SYNONYMS.get(wanted) or SYNONYMS.get(wanted.replace("-", "").replace("_", ""))
    if meant is None and wanted in names:
        meant = wanted
    if meant is None:
        from difflib import get_close_matches

        close = get_close_matches(wanted.replace("-", "_"), names, n=1, cutoff=0.6)
        meant = close[0] if close else None
    tip = f" Did you mean 'memai {meant}'?" if meant in names else ""
    return f"There is no command '{name}'.{tip}"
