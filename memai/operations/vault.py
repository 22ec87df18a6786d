"""A folder of other people's Markdown, read as memories."""

import os
from collections.abc import Callable, Iterator

from memai import files, repository, when
from memai.errors import UsageError
from memai.files import Found
from memai.formats import Broken, Incoming, markdown, pages
from memai.formats.foreign import Home
from memai.formats.markdown import Document
from memai.records import Relation

Told = Callable[[str, str], None]


class Vault:
    """A folder, or one file of it; memai's own pages in it are taken as such.

    It is read twice: names first, because a file may speak of one that comes later.
    """

    def __init__(self, folder: str, only: str | None, home: Home) -> None:
        self.folder = folder
        self.home = home
        self._only = only
        self._refused: list[tuple[str, str]] = []
        self._found = self._listed()
        self.size = sum(found.seen.size for found in self._found)
        self._label = self._named()
        self._times = repository.times(folder, ".md")
        self._names: dict[str, list[str]] = {}
        self._known = False
        self.at = 0  # bytes that were read this time

    def read(self, broken: Told) -> Iterator[Incoming | Relation]:
        """Yield the memories of all files; what cannot be read is told to `broken`."""
        self.at = 0
        for path, reason in self._refused:
            broken(path, reason)
        if not self._known:
            self._learn()
        for found in self._found:
            self.at += found.seen.size
            try:
                yield from self._file(found)
            except Broken as error:
                broken(found.path, str(error))

    def _listed(self) -> list[Found]:
        """Return the files to read."""
        if self._only is None:
            return list(
                files.walk(self.folder, ".md", lambda path, why: self._refused.append((path, why)))
            )
        try:
            status = os.stat(os.path.join(self.folder, self._only))
        except OSError as error:
            raise UsageError(reason=f"{self._only} cannot be read: {error.strerror}.") from None
        return [Found(self._only, files.seen(status))]

    def _named(self) -> str:
        """Return what names the folder wherever it lies: its place in git, else its own names.

        With the folder above it, because every project has a `docs` or a `memory-bank`.
        """
        known = repository.identity(self.folder)
        if known is not None:
            return known
        real = os.path.realpath(self.folder)
        parts = [part for part in real.split(os.sep)[-2:] if part]
        return "/".join(parts if self._only is None else parts[-1:])

    def _learn(self) -> None:
        """Note by which names the memories of each file are spoken of."""
        for found in self._found:
            try:
                doc = self._document(found)
            except Broken:
                continue
            if doc is not None:
                for name in markdown.names(doc):
                    self._names.setdefault(name, doc.keys())
        self._known = True

    def _file(self, found: Found) -> Iterator[Incoming | Relation]:
        """Yield the memories of one file."""
        text = self._text(found)
        own = pages.incoming(text, found.path)
        if own is not None:
            yield own
            return
        doc = markdown.document(text, found.path, self._label)
        changed = when.from_micros(found.seen.mtime // 1000)
        committed = self._times.get(found.path)
        first = when.from_micros(committed.first * 1_000_000) if committed else changed
        last = when.from_micros(committed.last * 1_000_000) if committed else changed
        home = self.home._replace(at=first)
        yield from markdown.memories(doc, home, last, lambda name: self._names.get(name, []))

    def _document(self, found: Found) -> Document | None:
        """Return a file taken apart, None for a page of memai's own."""
        text = self._text(found)
        if pages.incoming(text, found.path) is not None:
            return None
        return markdown.document(text, found.path, self._label)

    def _text(self, found: Found) -> str:
        """Return the text of a file; raises Broken."""
        try:
            data, _ = files.read(os.path.join(self.folder, found.path), pages.MAX_PAGE_BYTES)
            return data.decode().removeprefix("\ufeff")
        except UnicodeDecodeError:
            raise Broken("it is not UTF-8") from None
        except OSError as error:
            raise Broken(error.strerror or str(error)) from None
        except ValueError as error:
            raise Broken(str(error)) from None
