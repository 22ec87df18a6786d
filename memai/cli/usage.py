"""What is wrong with a command line, in a sentence that says what to do instead."""

import click

# What other programs call it. Nothing here works as a command: it is only understood.
_COMMANDS = {
    "note": "add save store remember write new create put insert memo",
    "show": "get read cat view open",
    "forget": "rm delete remove archive del hide",
    "purge": "erase destroy wipe",
    "search": "find query grep ask",
    "list": "ls log recent all",
    "edit": "update modify change tag mv move",
    "stats": "status info where path",
    "doctor": "check fsck verify health",
    "restore": "undelete unforget unarchive",
    "recover": "restore-backup",
    "export": "dump",
    "domains": "namespaces projects scopes",
    "pulse": "prime resume context",
    "duplicates": "dedup dedupe similar",
    "link": "relate connect",
    "unlink": "unrelate disconnect",
    "confidence": "confirm trust verify-memory",
    "reasoning": "why decision",
    "anti_pattern": "antipattern pitfall",
    "handoff": "hand-off handover",
    "backup": "snapshot copy",
    "reembed": "reindex embed",
    "serve-mcp": "serve mcp server",
    "help": "man usage",
}
_OPTIONS = {
    "--domain": "--project --namespace --scope --workspace --ns",
    "--tag": "--tags --label --labels",
    "--limit": "--max --count --top --top-k --max-results -l",
    "--json": "--format --output -o --as-json",
    "--all": "--include-archived --archived -a",
    "--since": "--after-date --from --newer-than",
    "--until": "--before --to --older-than",
    "--confirm": "--force --yes -f -y",
    "--reason": "--message -m --comment",
    "--file": "--input --from-file -F",
    "--quiet": "--ids --ids-only",
    "--version": "-V",
    "--model": "--embedding-model",
}


def sentence(error: click.UsageError) -> str:
    """Return what is wrong, what is meant, and where to read more."""
    path = error.ctx.command_path if error.ctx is not None else "memai"
    return f"{_complaint(error, path)} See '{path} -h'."


def no_such_command(name: str, names: list[str], context: click.Context) -> str:
    """Say that there is no such command, and which one is probably meant."""
    meant = _meant(name.lower(), names, _COMMANDS) or _meant(
        name.lower().replace("-", "_"), names, _COMMANDS
    )
    path = context.command_path
    tip = f" Did you mean '{path} {meant}'?" if meant else ""
    return f"There is no command '{path} {name}'.{tip}"


def _complaint(error: click.UsageError, path: str) -> str:
    """Return what is wrong."""
    if isinstance(error, click.NoSuchOption):
        return _no_such_option(error, path)
    if isinstance(error, click.MissingParameter) and error.param is not None:
        return f"{error.param.human_readable_name} is missing."
    if isinstance(error, click.BadParameter) and error.param is not None:
        names = [*error.param.opts] if isinstance(error.param, click.Option) else []
        name = max(names, key=len) if names else error.param.human_readable_name
        return f"{name}: {error.message.rstrip('.')}."
    message = error.format_message()
    if "unexpected extra argument" in message:
        left = message[message.find("(") + 1 : message.rfind(")")]
        return (
            f"'{left}' is left over: '{path}' takes less. A text of several words goes in quotes."
        )
    return message if message.endswith((".", "?")) else message + "."


def _no_such_option(error: click.NoSuchOption, path: str) -> str:
    """Say that there is no such option, and which one is probably meant."""
    parameters = error.ctx.command.get_params(error.ctx) if error.ctx is not None else []
    known = [name for parameter in parameters for name in parameter.opts if name.startswith("-")]
    name = error.option_name
    meant = _meant(name, known, _OPTIONS)
    if meant:
        return f"'{path}' has no option '{name}'. Did you mean '{meant}'?"
    takes_text = any(isinstance(parameter, click.Argument) for parameter in parameters)
    tip = " A text that begins with '-' goes after '--'." if takes_text else ""
    return f"'{path}' has no option '{name}'.{tip}"


def _meant(name: str, names: list[str], synonyms: dict[str, str]) -> str | None:
    """Return the name that is probably meant, None where nothing is near."""
    for meant, others in synonyms.items():
        if name in others.split() and meant in names:
            return meant
    from difflib import get_close_matches

    close = get_close_matches(name, names, n=1, cutoff=0.7 if name.startswith("--") else 0.6)
    return close[0] if close and len(name) > 2 else None
