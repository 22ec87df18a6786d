"""The completion files of bash, zsh and fish: what Click writes for a program named memai."""

from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete

from memai.documents.tree import program

FILES: dict[str, type[ShellComplete]] = {
    "memai.bash": BashComplete,
    "_memai": ZshComplete,
    "memai.fish": FishComplete,
}


def completions() -> dict[str, str]:
    """Return the text of each completion file by its name."""
    made = {}
    for name, kind in FILES.items():
        shell = kind(program(), {}, "memai", "_MEMAI_COMPLETE")
        # Not shell.source(): for bash that starts one to look at its version.
        made[name] = _corrected(kind.source_template % shell.source_vars())
    return made


def _corrected(source: str) -> str:
    """Return what Click writes without its faults."""
    # In bash, candidates were expanded as patterns of file names, and had no descriptions because
    # nobody knew whether it was about to list them.
    source = source.replace("COMPREPLY+=($value)", 'COMPREPLY+=("$value")')
    source = source.replace("read type value", "read -r type value")
    source = source.replace(
        "COMP_CWORD=$COMP_CWORD _MEMAI",
        'COMP_CWORD=$COMP_CWORD COMP_TYPE="$COMP_TYPE" COLUMNS="$COLUMNS" _MEMAI',
    )
    # In fish, what follows a comma in a value or its description was dropped.
    source = source.replace('string split ","', 'string split --max 1 ","')
    # In zsh, a file found on fpath is read for the first Tab only; for the second one it is a
    # function, which registered itself again instead of answering.
    return source.replace("== loadautofunc ]]", "== (loadautofunc|shfunc) ]]")
