"""What the options of every command are, and what they said on one command line."""

from __future__ import annotations

# Operations whose answer can be picked from.
PICKED = ("list", "search", "recall")


class Choices:
    """What the options of every command say; one object for a command line."""

    db: str | None = None
    json: bool = False
    jsonl: bool = False
    quiet: bool = False
    verbose: bool = False
    no_pager: bool = False
    no_input: bool = False
    color: str = "auto"
    allow_network_fs: bool = False


# Name in Choices, declarations, metavar or choices (None for a flag), help.
EVERYWHERE: tuple[tuple[str, tuple[str, ...], str | tuple[str, ...] | None, str], ...] = (
    ("db", ("--db",), "PATH", "The store, instead of MEMAI_DB and of memai.db in MEMAI_HOME."),
    ("json", ("--json",), None, "Answer with one JSON object; errors too, on standard error."),
    ("jsonl", ("--jsonl",), None, "Answer with one JSON object a line: memories, hits, pairs."),
    ("quiet", ("-q", "--quiet"), None, "Answer with uids only, one a line."),
    ("verbose", ("-v", "--verbose"), None, "Say more: routes, scores, agents, versions."),
    ("no_pager", ("--no-pager",), None, "Never page a long answer."),
    ("no_input", ("--no-input",), None, "Never ask, never open an editor."),
    (
        "color",
        ("--color",),
        ("auto", "always", "never"),
        "Colour; 'always' lays out as on a terminal, in pipes too.",
    ),
    (
        "allow_network_fs",
        ("--allow-network-fs",),
        None,
        "Use a store on a network filesystem, from this host only.",
    ),
)

# The commands that are no operation.
SUMMARIES = {
    "serve-mcp": "Serve the operations to an MCP client over standard input and output.",
    "setup": "Write memai into the settings of an MCP client, with absolute paths.",
    "help": "Show the help of memai, or of one of its commands.",
}
