"""What an import reads: a file, standard input, a folder or another store, again if need be."""

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack
from types import TracebackType
from typing import Any, BinaryIO, Self

from memai import files, place, when
from memai.errors import Unreadable, UsageError
from memai.formats import Broken, Incoming, own, recognise
from memai.formats.foreign import Home
from memai.operations.importing import Read
from memai.operations.vault import Vault
from memai.records import Relation, Tombstone, Where
from memai.settings import expanded
from memai.store import Store
from memai.vocabulary import NO_DOMAIN, FormName

# A form that is one object is read whole; this bounds what that takes.
MAX_OBJECT_BYTES = 256_000_000
# Standard input is kept in a file while it is looked at; this bounds what that takes.
MAX_INPUT_BYTES = 32_000_000_000
_CHUNK = 1 << 20

Told = Callable[[str, str], None]


class Source(AbstractContextManager["Source"]):
    """One source of an import, opened; `form` is its form and `size` its bytes, 0 if unknown.

    Opening raises UsageError for what is not there or not known, ForeignFile, NewerStore, Damaged.
    """

    def __init__(
        self, store: Store, source: str, form: FormName | None, domain: str | None
    ) -> None:
        self.store = store
        self.name = source if source != "-" else "standard input"
        self.size = 0
        self._read = 0
        self._open = ExitStack()
        self._file: BinaryIO | None = None
        self._other: Store | None = None
        self._vault: Vault | None = None
        try:
            self.form, self.home = self._opened(source, form, domain)
        except BaseException:
            self._open.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._open.close()

    def read(self, broken: Told) -> Read:
        """Return what gives the memories, from the beginning each time it is called."""

        def stream() -> Iterable[Incoming | Relation]:
            self._read = 0
            if self._vault is not None:
                return self._vault.read(broken)
            if self._other is not None:
                return self._store_read(self._other, broken)
            return self._file_read(broken)

        return stream

    @property
    def at(self) -> int:
        """How many of its bytes were read this time."""
        return self._vault.at if self._vault is not None else self._read

    @property
    def is_lines(self) -> bool:
        """Whether it is a file of memai's own lines."""
        return self.form == "memai" and self._file is not None

    def state(self) -> object:
        """Return what shows that a file was changed while it was read."""
        if self._file is None:
            return None
        status = os.fstat(self._file.fileno())
        return status.st_size, status.st_mtime_ns

    def tombstones(self) -> Iterator[Tombstone]:
        """Yield what was purged in another copy of this very store; of strangers nothing."""
        if self._other is not None and self._other.meta("store") == self.store.meta("store"):
            yield from self._other.tombstones()

    # --- opening ------------------------------------------------------------------------------

    def _opened(
        self, source: str, form: FormName | None, domain: str | None
    ) -> tuple[FormName, Home]:
        """Open what is named; return its form, and what its memories do not say themselves."""
        now = when.now()
        here = Home(self._chosen(domain, None), now)
        if source == "-":
            self._file = self._spooled(0)
            return self._form(form), here
        if not source.strip():
            raise UsageError(reason="The source is empty. Name a file, a folder, or '-'.")
        path = expanded(source)
        try:
            status = os.stat(path)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise UsageError(reason=f"'{source}' cannot be read: {reason}.") from None
        if stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode):
            path = os.path.realpath(path)
        if is_store(self.store, status):
            raise UsageError(reason=f"{path} is the store itself; there is nothing to import.")
        if stat.S_ISDIR(status.st_mode):
            if form not in (None, "markdown"):
                raise UsageError(reason=f"{path} is a folder, and only Markdown comes in folders.")
            return self._folder(path, None, domain, now)
        self._file = self._plain(path, status)
        found = self._form(form)
        if found == "markdown":
            return self._folder(os.path.dirname(path), os.path.basename(path), domain, now)
        if found == "memai" and self._head().startswith(recognise.SQLITE):
            self._file.close()  # from here on only the engine touches it
            self._file = None
            self._other = self._open.enter_context(self.store.other(path))
            self.size = status.st_size
        return found, here._replace(at=when.from_micros(status.st_mtime_ns // 1000))

    def _chosen(self, domain: str | None, own_place: str | None) -> str | None:
        """Return the domain of what names none: as was said, else its project, else at hand."""
        if domain is not None:
            return None if domain == NO_DOMAIN else domain
        return own_place or self.store.caller.domain

    def _plain(self, path: str, status: os.stat_result) -> BinaryIO:
        """Open a file to be read, a pipe by way of a copy, because it is read twice."""
        try:
            if not stat.S_ISREG(status.st_mode):
                return self._spooled(os.open(path, os.O_RDONLY | os.O_CLOEXEC))
            self.size = status.st_size
            file = open(path, "rb")  # noqa: SIM115 - it is entered
            return self._open.enter_context(file)
        except OSError as error:
            raise UsageError(reason=f"{path} cannot be read: {error.strerror}.") from None

    def _spooled(self, descriptor: int) -> BinaryIO:
        """Copy a stream to a private file without a name, which is gone whatever happens."""
        from tempfile import TemporaryFile

        folder = os.path.dirname(self.store.settings.path)
        beside = folder if os.path.isdir(folder) and os.access(folder, os.W_OK) else None
        try:
            copy = self._open.enter_context(TemporaryFile(dir=beside))  # noqa: SIM115 - entered
            while chunk := os.read(descriptor, _CHUNK):
                self.size += copy.write(chunk)
                if self.size > MAX_INPUT_BYTES:
                    raise UsageError(
                        reason=f"{self.name} gives more than {MAX_INPUT_BYTES:,} bytes."
                    )
        except OSError as error:
            raise files.failure(beside or "the temporary folder", error) from None
        finally:
            if descriptor:
                os.close(descriptor)
        return copy

    def _form(self, form: FormName | None) -> FormName:
        """Return the form that was named, else that of what is in the file."""
        if form is not None:
            return form
        try:
            return recognise.form_of(self._head(), self.name)
        except Broken as error:
            raise UsageError(reason=f"{self.name} was not imported: {error}.") from None

    def _head(self) -> bytes:
        """Return the beginning of the file."""
        if self._file is None:
            return b""
        self._file.seek(0)
        return self._file.read(recognise.HEAD_BYTES)

    def _folder(
        self, folder: str, only: str | None, domain: str | None, now: str
    ) -> tuple[FormName, Home]:
        """Open Markdown: a folder of it, or one file in it."""
        at_hand = place.at_hand(folder)
        own_place = at_hand.domain if at_hand is not None and at_hand.domain != "-" else None
        home = Home(self._chosen(domain, own_place), now)
        self._vault = Vault(folder, only, home)
        self.size = self._vault.size
        return "markdown", home

    # --- reading ------------------------------------------------------------------------------

    def _file_read(self, broken: Told) -> Iterable[Incoming | Relation]:
        """Read a file in its form."""
        if self.form == "memai":
            return own.read(self.lines(), broken)
        if self.form == "memory-arbiter":
            from memai.formats import memory_arbiter

            return memory_arbiter.read(self.lines(), self.home, broken)
        if self.form == "mem0":
            from memai.formats import mem0

            return mem0.read(self._object(), self.home, broken)
        from memai.formats import mcp_memory

        if self._is_laid_out():
            return mcp_memory.graph(self._object(), self.home, broken)
        return mcp_memory.read(self.lines(), self.home, broken)

    def lines(self) -> Iterator[bytes]:
        """Yield the lines of the file, from its beginning."""
        assert self._file is not None  # the other sources have readers of their own
        self._file.seek(0)
        self._read = 0
        for number, line in enumerate(files.lines(self._file, own.MAX_LINE_BYTES)):
            self._read += len(line)
            yield line.removeprefix(b"\xef\xbb\xbf") if number == 0 else line

    def _object(self) -> Any:
        """Return the one object that the file is; raises Unreadable."""
        assert self._file is not None
        self._file.seek(0)
        raw = self._file.read(MAX_OBJECT_BYTES + 1).removeprefix(b"\xef\xbb\xbf")
        self._read += len(raw)
        if len(raw) > MAX_OBJECT_BYTES:
            raise self._unreadable(f"it is larger than {MAX_OBJECT_BYTES:,} bytes")
        try:
            value: Any = own.strictly(raw)
        except Broken as error:
            raise self._unreadable(str(error)) from None
        return value

    def _is_laid_out(self) -> bool:
        """Whether an object begins on the first line and goes on, as indented JSON does."""
        head = self._head().removeprefix(b"\xef\xbb\xbf").lstrip()
        return head.split(b"\n", 1)[0].strip() in (b"{", b"[")

    def _unreadable(self, reason: str) -> UsageError:
        return UsageError(reason=f"{self.name} was not imported: {reason}.")

    def _store_read(self, other: Store, broken: Told) -> Iterator[Incoming]:
        """Read another store, and believe it no more than a file."""
        for memory, history, relations in other.export(Where(current=False)):
            try:
                yield own.parse(own.line(memory, history, relations), f"memory {memory.uid}")
            except Broken as error:
                broken(f"memory {memory.uid}", str(error))


def is_store(store: Store, status: os.stat_result) -> bool:
    """Whether a file is the store itself or one of those beside it, which only SQLite may open."""
    for end in ("", "-wal", "-shm", "-journal"):
        try:
            if os.path.samestat(os.stat(store.settings.path + end), status):
                return True
        except OSError:
            continue
    return False


def first_only(source: str) -> Told:
    """Return what ends an import at the first thing that cannot be read."""

    def broken(place: str, reason: str) -> None:
        raise Unreadable(place=place, source=source, reason=reason)

    return broken
