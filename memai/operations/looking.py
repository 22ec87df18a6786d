"""Looking at a folder before it is synced: whose page each file is, and which of them changed."""

import re

from memai.errors import Refused
from memai.files import Found
from memai.formats import Broken, pages
from memai.operations import carrying
from memai.operations.folder import Folder, text_of
from memai.records import Synced

# If so many pages were there and none is left, the folder is more likely not there than meant.
_SUSPECT = 5
_UID = re.compile(r"^uid:[ \t]*[\"']?([0-9a-hjkmnp-tv-z]{10})\b", re.MULTILINE)


class Look:
    """What is in a folder, seen against what was remembered of it (`rows`, by uid).

    `here` are the pages by uid; `changed` those that are not as they were, `touched` those that
    only have another time; `held` are memories whose page cannot be read; `fresh` are files that
    are nobody's page yet; `faults` what cannot be read, and why.
    """

    def __init__(self, folder: Folder, rows: dict[str, Synced]) -> None:
        self.folder = folder
        self.rows = rows
        self.here: dict[str, Found] = {}
        self.changed: set[str] = set()
        self.touched: set[str] = set()
        self.held: set[str] = set()
        self.fresh: list[Found] = []
        self.faults: list[tuple[str, str]] = []

    def run(self) -> None:
        """Look at every file; raises Refused where suspiciously many are gone."""
        by_path = {row.path: row for row in self.rows.values() if row.path}
        for found in self.folder.files():
            self._one(found, by_path.get(found.path))
        for path, reason in self.folder.unreadable.items():
            self.faults.append((path, reason))
        known = sum(1 for row in self.rows.values() if row.path)
        if known > _SUSPECT and not self.here and not self.folder.unreadable:
            raise Refused(
                reason=f"None of the {known} pages that were in {self.folder.root} is there. "
                "Nothing was archived; 'memai forget' does that if it is meant."
            )

    def _one(self, found: Found, row: Synced | None) -> None:
        """Find out whose page a file is, and whether it is as it was."""
        if row is not None and found.seen == (row.size, row.mtime):
            self._claim(row.uid, found, row)
            return
        try:
            data, seen = self.folder.read(found.path)
            found = Found(found.path, seen)
            if row is not None and carrying.digest(data) == row.sha256:
                self.touched.add(row.uid)
                self._claim(row.uid, found, row)
                return
            uid = self._owner(data, row)
        except Broken as error:
            self.folder.unreadable[found.path] = str(error)
            return
        if uid is not None:
            if self._claim(uid, found, self.rows.get(uid)):
                self.changed.add(uid)
        elif data.strip():
            self.fresh.append(found)

    def _owner(self, data: bytes, row: Synced | None) -> str | None:
        """Return the uid of the memory whose page this is; raises Broken, and then holds it."""
        text = text_of(data)
        try:
            page = pages.parse(text)
        except Broken:
            named = _UID.search(text[:2000])
            self.held |= {named[1]} if named else set()
            self.held |= {row.uid} if row is not None else set()
            raise
        if page is not None:
            return page.memory.uid
        return row.uid if row is not None else None

    def _claim(self, uid: str, found: Found, row: Synced | None) -> bool:
        """Note that a file is the page of a memory; of two the one that was it before."""
        other = self.here.get(uid)
        if other is None:
            self.here[uid] = found
            return True
        stays, goes = other, found
        if row is not None and found.path == row.path:
            stays, goes = found, other
            self.changed.discard(uid)
        self.here[uid] = stays
        told = f"it has the uid of {stays.path}; left alone. Without its uid it is a new memory."
        self.faults.append((goes.path, told))
        return stays is found
