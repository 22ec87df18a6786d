"""Memories, their history and their relations, kept as rows; all of it inside `writing()`."""

from __future__ import annotations

from memai.lean import TYPE_CHECKING
from memai.store import SpaceChanged
from memai.store.columns import COLUMNS, INSERT_EDIT, digest, edit_row, row_of
from memai.store.rows import Rows
from memai.store.sums import checksum, vector_checksum
from memai.store.transactions import Transactions
from memai.when import to_micros

if TYPE_CHECKING:
    from typing import Any

    from memai.records import Edit, Embedded, Memory, Passage, Relation, Space

_INDEXED = ("content", "words", "tag_words", "domain_words")
ERASE_PENDING = "erase_pending"
"""The remark that bytes of purged memories wait to leave the disk."""

INSERT_VECTOR = "INSERT INTO vectors VALUES(?, ?, ?, ?, ?)"


class Writing(Rows, Transactions):
    """What comes to be kept of each memory."""

    def insert(self, memory: Memory, embedded: Embedded) -> None:
        """Add a memory with its passages."""
        row = row_of(memory)
        self.run(f"INSERT INTO memories({', '.join(COLUMNS)}) VALUES({_marks(len(COLUMNS))})", row)
        self._put_passages(self._id(memory.uid), embedded)

    def change(self, memory: Memory, edit: Edit, embedded: Embedded | None) -> None:
        """Replace a memory's fields and append the edit; new passages if given."""
        id = self._id(memory.uid)
        self._update(id, memory)
        self._append(id, edit)
        if embedded is not None:
            self.run("DELETE FROM passages WHERE memory_id = ?", (id,))
            self._put_passages(id, embedded)

    def _remove(self, uid: str, at: str) -> None:
        """Remove a memory with all that hangs on it, and leave a tombstone; see `erasing`."""
        memory = self.get(uid)
        self.run("DELETE FROM memories WHERE uid = ?", (uid,))
        self._count_rewriting()
        origin = digest("\0".join(memory.origin)) if memory.origin else None
        values = (uid, to_micros(at), origin)
        self.run(
            "INSERT OR REPLACE INTO tombstones VALUES(?, ?, ?, ?)", (*values, checksum(values))
        )

    def relate(self, relation: Relation, *, replace: bool = False) -> bool:
        """Keep a relation, also one that was taken away; false if it is there already."""
        values = (
            self._id(relation.from_uid),
            relation.type,
            self._id(relation.to_uid),
            relation.note,
            relation.agent,
            to_micros(relation.created_at),
            None if relation.removed_at is None else to_micros(relation.removed_at),
        )
        if not replace and self.one(
            "SELECT 1 FROM links WHERE (from_id, type, to_id) = (?, ?, ?)", values[:3]
        ):
            return False
        self.run(
            "INSERT OR REPLACE INTO relations VALUES(?, ?, ?, ?, ?, ?, ?, ?)",
            (*values, checksum(values)),
        )
        return True

    def unrelate(self, from_uid: str, type: str, to_uid: str, at: str) -> Relation | None:
        """Take a relation away and return it, or None if there was none."""
        for relation in self.relations(from_uid):
            if (relation.from_uid, relation.type, relation.to_uid) == (from_uid, type, to_uid):
                # Not before it was made, where a clock was set back: merging goes by time.
                gone = relation._replace(removed_at=max(at, relation.created_at))
                self.relate(gone, replace=True)
                return gone
        return None

    def _space_id(self, space: Space) -> int:
        """Return the id of a space, making it on first use."""
        found = self.one(
            "SELECT id FROM spaces WHERE (model, sha256, dim, recipe) = (?, ?, ?, ?)", tuple(space)
        )
        if found is None:
            self.run("INSERT INTO spaces(model, sha256, dim, recipe) VALUES(?, ?, ?, ?)", space)
            found = self.one("SELECT last_insert_rowid()")
        return int(found)

    def _put_passages(self, id: int, embedded: Embedded) -> None:
        """Add the passages of a memory, in the store's space as it is under the lock."""
        space = self.space()
        if embedded.space is not None and space is None:
            self.set_meta("space", str(self._space_id(embedded.space)))
        elif embedded.space is not None and embedded.space != space:
            raise SpaceChanged
        for passage in embedded.passages:
            passage_id = self.put_passage(id, passage.start, passage.end)
            if embedded.space is not None:
                self.put_vector(passage_id, self._space_id(embedded.space), passage)

    def put_passage(self, memory_id: int, start: int, end: int) -> int:
        """Add a passage of a memory; return its id."""
        values = (memory_id, start, end)
        self.run(
            'INSERT INTO passages(memory_id, "start", "end", crc) VALUES(?, ?, ?, ?)',
            (*values, checksum(values)),
        )
        return int(self.one("SELECT last_insert_rowid()"))

    def put_vector(self, passage_id: int, space_id: int, passage: Passage) -> None:
        """Add the vector of a passage."""
        self.run(INSERT_VECTOR, vector_row(passage_id, space_id, passage))

    def _update(self, id: int, memory: Memory) -> None:
        """Replace the fields of a memory."""
        row = row_of(memory)
        same = " AND ".join(f"{column} IS ?" for column in _INDEXED)
        indexed = [row[COLUMNS.index(column)] for column in _INDEXED]
        if not self.one(f"SELECT 1 FROM memories WHERE id = ? AND {same}", (id, *indexed)):
            self._count_rewriting()
        self.run(
            f"UPDATE memories SET {', '.join(c + ' = ?' for c in COLUMNS)} WHERE id = ?",
            (*row, id),
        )

    def _count_rewriting(self) -> None:
        """Say that indexed words changed or went, so that no process ranks by those it knows."""
        self.run(
            "INSERT INTO meta(name, value) VALUES('rewritten', '1') ON CONFLICT(name)"
            " DO UPDATE SET value = CAST(value AS INTEGER) + 1"
        )

    def _append(self, id: int, edit: Edit) -> None:
        """Append to the history of a memory."""
        self.run(INSERT_EDIT, edit_row(id, edit))

    def set_meta(self, name: str, value: str | None) -> None:
        """Keep a remark about the store; None takes it away."""
        if value is None:
            self.run("DELETE FROM meta WHERE name = ?", (name,))
        else:
            self.run(
                "INSERT OR REPLACE INTO meta VALUES(?, ?, ?)",
                (name, value, checksum((name, value))),
            )


def vector_row(passage_id: int, space_id: int, passage: Passage) -> tuple[Any, ...]:
    """Return the vector of a passage as a row."""
    values = (passage_id, space_id, passage.embedding, passage.tokens)
    return (*values, vector_checksum(*values))


def _marks(count: int) -> str:
    return ", ".join("?" * count)
