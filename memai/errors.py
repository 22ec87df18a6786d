"""What can go wrong, once for every face.

The docstring of an error is its message, with the fields of the error in braces; `exit_code` is
what a shell sees and `code` what a program reads. A message says what happened, to which thing,
and what can be done now; it never holds a secret or a traceback.
"""

from __future__ import annotations

from memai.lean import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any, ClassVar


class MemaiError(Exception):
    """Something went wrong: {reason}."""

    exit_code: ClassVar[int] = 1
    code: ClassVar[str] = "unexpected"

    def __init__(self, **fields: Any) -> None:
        self.fields = fields
        template = " ".join((type(self).__doc__ or "").split())
        super().__init__(template.format(**fields))

    @property
    def message(self) -> str:
        """The sentences for a person."""
        return str(self)

    def add(self, sentence: str) -> None:
        """Say more."""
        self.args = (f"{self} {sentence}",)


class UsageError(MemaiError):
    """{reason}"""

    exit_code = 2
    code = "usage"


class TooLarge(UsageError):
    """{what} has {size}; at most {limit} are kept. {hint}"""

    code = "too-large"


class Unreadable(UsageError):
    """Nothing was imported: {place} of {source} cannot be read: {reason}. Mend it, or say
    --keep-going to import the rest."""

    code = "unreadable-input"


class NoSuchMemory(MemaiError):
    """No such memory: no uid begins with '{uid}'. See 'memai list' for the uids there are."""

    exit_code = 3
    code = "no-such-memory"


class NoSuchRelation(MemaiError):
    """No such relation: {uid} {relation} {other}. See 'memai relations {uid}'."""

    exit_code = 3
    code = "no-such-relation"


class AmbiguousUid(MemaiError):
    """The uid '{uid}' is not unique: {matches}. Write more of it."""

    exit_code = 3
    code = "ambiguous-uid"


class Refused(MemaiError):
    """{reason}"""

    exit_code = 4
    code = "refused"


class ConfirmationNeeded(Refused):
    """Nothing was purged: to erase this memory for good, confirm with the phrase 'DELETE {uid}'."""

    code = "confirmation-needed"


class VersionConflict(Refused):
    """{uid} is at version {version}, not {expected}: someone else changed it. Read it again."""

    code = "version-conflict"


class SecretFound(Refused):
    """Not stored: this looks like a {kind} at character {offset} of {what}. {hint}"""

    code = "secret-found"


class NetworkFilesystem(Refused):
    """{path} is on a {kind} filesystem, where SQLite's write-ahead log is not safe. Keep the store
    on a local disk, or say --allow-network-fs if only one host uses it."""

    code = "network-filesystem"


class Busy(MemaiError):
    """Another process kept the store locked for {seconds:g} seconds. This write changed nothing;
    try again."""

    exit_code = 5
    code = "busy"


class Damaged(MemaiError):
    """The store {path} is damaged: {reason}. Run 'memai doctor'."""

    exit_code = 6
    code = "damaged"


class ForeignFile(MemaiError):
    """{path} is not a memai store ({reason}). It was left untouched."""

    exit_code = 6
    code = "foreign-file"


class NewerStore(MemaiError):
    """{path} has schema {found} and was written by a newer memai; this one knows schemas up to
    {known}. It was left untouched; upgrade memai."""

    exit_code = 6
    code = "newer-store"


class ModelMissing(MemaiError):
    """The embedding model '{model}' cannot be used: {reason}. Words are still searched."""

    exit_code = 7
    code = "model-missing"


class NoSpace(MemaiError):
    """There is no space left for {path}. This write changed nothing; free some and try again."""

    exit_code = 9
    code = "no-space"


class NotWritable(MemaiError):
    """{path} cannot be used: {reason}. Nothing was changed."""

    exit_code = 9
    code = "not-writable"


class StorageFault(MemaiError):
    """The disk reported an error on {path}: {reason}. Whether the last write was kept is not
    certain; read it back."""

    exit_code = 9
    code = "storage-fault"


class NotErased(MemaiError):
    """{uid} was removed, but its bytes are still on disk ({reason}). They leave it with the next
    write or 'memai doctor' after that is mended."""

    exit_code = 9
    code = "not-erased"


EXIT_CODES: tuple[tuple[int, str], ...] = (
    (0, "Done, also when nothing matched."),
    (1, "Unexpected error."),
    (2, "The command line is wrong."),
    (3, "No such memory, or an abbreviation that fits several."),
    (4, "Refused: a phrase, a version or a rule was not met."),
    (5, "Busy: the store stayed locked. Try again."),
    (6, "The store is damaged, foreign or newer than this program."),
    (7, "An embedding model is needed and not to be had."),
    (8, "Done, but something needs a person: findings of doctor, conflicts of an import."),
    (9, "No space, read-only, no permission, or the disk reported an error."),
    (130, "Interrupted."),
)
