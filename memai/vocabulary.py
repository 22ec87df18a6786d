"""The words of memai as types, and what each parameter of an operation means, written once.

An operation names its parameters with the annotated types below; every face (command line, MCP,
manual, completions) reads name, choices, bounds and help from there. The same word means the same
thing in every operation, so its help is neutral between writing it and filtering by it.
"""

from typing import Annotated, Literal, get_args

from memai import limits
from memai.shapes import Param as Param  # noqa: PLC0414 - it is one of the words

MemoryType = Literal["note", "checkpoint", "anti_pattern", "reasoning", "handoff"]
Status = Literal["active", "archived"]
Verdict = Literal["unverified", "confirmed", "contradicted"]
FormName = Literal["memai", "mcp-memory", "markdown", "mem0", "memory-arbiter"]
MEMORY_TYPES: tuple[MemoryType, ...] = get_args(MemoryType)
STATUSES: tuple[Status, ...] = get_args(Status)
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)

# Words and bounds that code knows by themselves; `memai.limits` needs no `typing`.
SUPERSEDES = limits.SUPERSEDES
RELATIONS = limits.RELATIONS
NO_DOMAIN = limits.NO_DOMAIN
MAX_CONTENT_BYTES = limits.MAX_CONTENT_BYTES
MAX_TAGS = limits.MAX_TAGS
MAX_TAG_CHARACTERS = limits.MAX_TAG_CHARACTERS
MAX_NAME_CHARACTERS = limits.MAX_NAME_CHARACTERS
MAX_REASON_CHARACTERS = limits.MAX_REASON_CHARACTERS
MAX_LIMIT = limits.MAX_LIMIT
ANSWER_BYTES = limits.ANSWER_BYTES

Content = Annotated[str, Param("The text to keep.", positional=True, stdin=True)]
Query = Annotated[str, Param("What to look for, in any words.", positional=True, stdin=True)]
Uid = Annotated[
    str, Param("A memory: its uid, or a unique beginning.", positional=True, completes="uid")
]
Uids = Annotated[
    tuple[str, ...],
    Param("Memories: uids, or unique beginnings.", positional=True, completes="uid"),
]
Other = Annotated[str, Param("The other memory.", positional=True, completes="uid")]
RelationType = Annotated[
    str,
    Param(
        "How they relate: supersedes, relates_to, contradicts, derived_from, any word.",
        positional=True,
    ),
]
VerdictValue = Annotated[Verdict, Param("How far it can be trusted.", positional=True)]

Domain = Annotated[
    str,
    Param(
        "The namespace (project, ticket, area); '-' for none. Filters cover what is below it.",
        short="d",
        completes="domain",
    ),
]
DomainName = Annotated[str, Param("The domain.", positional=True, completes="domain")]
NewDomain = Annotated[str, Param("Its new name.", positional=True, completes="domain")]
SpellingPolicy = Annotated[
    Literal["preserve", "lower", "upper"],
    Param("How domains are spelled when written.", positional=True),
]
Type = Annotated[MemoryType, Param("The type of memory.")]
Session = Annotated[str, Param("The sitting it belongs to.")]
Tags = Annotated[
    tuple[str, ...],
    Param("Tags.", option="tag", short="t", commas=True, completes="tag"),
]
AddTags = Annotated[
    tuple[str, ...],
    Param("Tags to add.", option="add-tag", commas=True, completes="tag"),
]
RemoveTags = Annotated[
    tuple[str, ...],
    Param("Tags to take away.", option="remove-tag", commas=True, completes="tag"),
]
StatusValue = Annotated[Status, Param("The status.")]
Source = Annotated[str, Param("Where the content came from.")]
Key = Annotated[str, Param("Your own unique key: a retry with it returns the first memory.")]
Reason = Annotated[str, Param("Why, for the history.")]
RelationNote = Annotated[str, Param("A remark on the relation.")]
IfVersion = Annotated[
    int, Param("Only if the memory is still at this version.", option="if-version", at_least=1)
]
Clearable = Literal["domain", "session", "tags", "source"]
Clear = Annotated[tuple[Clearable, ...], Param("Fields to empty.")]
SupersededBy = Annotated[
    str, Param("The memory that replaces it: hides instead of archiving.", completes="uid")
]
Confirm = Annotated[str, Param("The phrase 'DELETE <uid>', with the whole uid.")]
AllowSecret = Annotated[bool, Param("Keep text that looks like a credential.")]
Redact = Annotated[bool, Param("Keep it with credentials replaced by [redacted:KIND].")]

Intent = Annotated[str, Param("What the work is for.")]
Established = Annotated[str, Param("What is known or done.")]
Pursuing = Annotated[str, Param("What is being tried now.")]
OpenQuestions = Annotated[str, Param("What is still open.")]
Pattern = Annotated[str, Param("What is done wrong.")]
WhyWrong = Annotated[str, Param("Why it fails.")]
Instead = Annotated[str, Param("What to do instead.")]

Since = Annotated[str, Param("From this time: 2026-03-29, yesterday, 3d, an ISO date and time.")]
Until = Annotated[str, Param("Up to this time, in the same forms; a day counts whole.")]
Limit = Annotated[int, Param("At most this many.", short="n", at_least=1, at_most=MAX_LIMIT)]
After = Annotated[str, Param("Go on from the 'next' of an earlier answer.")]
All = Annotated[bool, Param("Also what is archived or superseded.")]
Here = Annotated[bool, Param("Only the domain at hand.")]
MaxBytes = Annotated[int, Param("At most this many bytes of answer.", at_least=400)]
Without = Annotated[tuple[str, ...], Param("Leave out what holds this word.")]
Explain = Annotated[bool, Param("Show the routes and scores of each hit.")]
Newer = Annotated[bool, Param("Prefer the newer of near-equals.")]
SpanValue = Annotated[str, Param("Only these characters, START:END.")]
Outline = Annotated[bool, Param("Only the heads of its passages, with offsets.")]
Threshold = Annotated[float, Param("How alike, from 0 to 1.")]
DryRun = Annotated[bool, Param("Say what would change, and change nothing.")]

Target = Annotated[
    str,
    Param("A .db file, or a folder that gets a dated file.", positional=True, completes="path"),
]
Model = Annotated[str, Param("The model: memai-static-1, a model2vec folder, a hub name.")]
Deep = Annotated[bool, Param("Read every byte of every memory.")]
Secrets = Annotated[bool, Param("Look for credentials in all that is kept.")]
Compact = Annotated[bool, Param("Give unused space in the file back.")]
Keep = Annotated[int, Param("Keep this many of the newest backups in the folder.", at_least=1)]
KeepDaily = Annotated[
    int, Param("Keep the last backup of each of this many days.", option="keep-daily", at_least=1)
]
KeepWeekly = Annotated[
    int,
    Param("Keep the last backup of each of this many weeks.", option="keep-weekly", at_least=1),
]
BackupPlace = Annotated[
    str, Param("A backup, or a folder of backups.", positional=True, completes="path")
]
BackupFile = Annotated[str, Param("The backup to go back to.", positional=True, completes="path")]
Verify = Annotated[bool, Param("Read every byte of each backup again.")]
Revert = Annotated[int, Param("Make it again what it was in this version.", at_least=1)]
Fix = Annotated[bool, Param("Rebuild words and vectors from the memories, after a backup.")]

ImportSource = Annotated[
    str,
    Param("A file, a folder of Markdown, another store, '-' for standard input.",
          positional=True, completes="path"),
]  # fmt: skip
Form = Annotated[FormName, Param("The form of what is read, where it is not recognised.")]
KeepGoing = Annotated[bool, Param("Take what can be read, and list what cannot.")]
OutputFile = Annotated[str, Param("Write to this new file, for you only.", completes="path")]
MarkdownFolder = Annotated[
    str, Param("Write one Markdown file a memory into this folder.", completes="path")
]
Vectors = Annotated[bool, Param("Carry the vectors along; without, they are made again.")]
SyncFolder = Annotated[
    str, Param("A folder with one Markdown file a memory.", positional=True, completes="path")
]
