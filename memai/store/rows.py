"""Memories, their history and their relations as rows."""

from __future__ import annotations

from memai.errors import AmbiguousUid, NoSuchMemory
from memai.lean import TYPE_CHECKING
from memai.records import Edit, Space
from memai.store import SpaceChanged
from memai.store.columns import (
    COLUMNS,
    EDIT,
    INSERT_EDIT,
    MEMORY,
    REPLACED,
    condition,
    digest,
    domain_key,
    edit_row,
    fields,
    instant,
    memory_of,
    read_json,
    relation_of,
    row_of,
)
from memai.store.connection import Connection
from memai.store.sums import checksum, vector_checksum
from memai.when import to_micros

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from memai.records import Embedded, Memory, Origin, Passage, Relation, Where

ERASE_PENDING = "erase_pending"
"""The remark that bytes of purged memories wait to leave the disk."""

_UID_CHARACTERS = "0123456789abcdefghjkmnpqrstvwxyz"  # see `checking.UID_ALPHABET`


class Rows(Connection):
    """What is kept of each memory, in and out."""

    # --- reading ------------------------------------------------------------------------------

    def resolve(self, uid: str) -> str:
        """Return the whole uid for a unique beginning of four characters or more."""
        wanted = uid.strip().lower()
        if not 4 <= len(wanted) <= 10 or wanted.strip(_UID_CHARACTERS):
            raise NoSuchMemory(uid=_short(uid))
        found = self.all(
            "SELECT uid FROM memories WHERE uid >= ? AND uid < ? ORDER BY uid LIMIT 6",
            (wanted, wanted + "~"),
        )
        if not found:
            raise NoSuchMemory(uid=_short(uid))
        if len(found) > 1:
            shown = ", ".join(row[0] for row in found[:5]) + (", ..." if len(found) > 5 else "")
            raise AmbiguousUid(uid=wanted, matches=shown)
        return str(found[0][0])

    def get(self, uid: str) -> Memory:
        """Return the memory with this whole uid."""
        found = self.find(uid)
        if found is None:
            raise NoSuchMemory(uid=_short(uid))
        return found

    def find(self, uid: str) -> Memory | None:
        """Return the memory with this whole uid, or None."""
        return self._memory("m.uid = ?", (uid,))

    def memories(self, ids: Sequence[int]) -> dict[int, Memory]:
        """Return the memories with these engine ids."""
        listed = f"[{','.join(map(str, ids))}]"
        rows = self.all(
            f"SELECT {MEMORY} FROM memories m WHERE m.id IN (SELECT value FROM json_each(?))",
            (listed,),
        )
        return {row[0]: memory_of(row) for row in rows}

    def page(self, where: Where, limit: int, after: str | None = None) -> list[Memory]:
        """Return up to `limit` memories, newest first, after the memory with uid `after`."""
        sql, values = condition(where)
        if after is not None:
            sql += (
                " AND (m.created_at, m.id) <"
                " (SELECT created_at, id FROM memories WHERE uid = :after)"
            )
            values["after"] = self.resolve(after)
        values["limit"] = limit
        rows = self.all(
            f"SELECT {MEMORY} FROM memories m WHERE {sql}"
            " ORDER BY m.created_at DESC, m.id DESC LIMIT :limit",
            values,
        )
        return [memory_of(row) for row in rows]

    def count(self, where: Where) -> int:
        """Return how many memories are in this filter."""
        sql, values = condition(where)
        return int(self.one(f"SELECT count(*) FROM memories m WHERE {sql}", values))

    def with_key(self, key: str) -> Memory | None:
        """Return the memory that was written with this caller's key."""
        return self._memory("m.key = ?", (key,))

    def same(self, memory: Memory) -> Memory | None:
        """Return a current memory of the same type, domain and content."""
        return self._memory(
            "m.content_sha256 = ? AND m.type = ? AND m.domain_key IS ? AND m.content = ?"
            f" AND m.status = 'active' AND NOT {REPLACED}",
            (digest(memory.content), memory.type, domain_key(memory.domain), memory.content),
        )

    def buried(self, uid: str, origin: Origin | None = None) -> bool:
        """Whether a memory with this uid, or from this origin, was purged here."""
        hashed = digest("\0".join(origin)) if origin else None
        return bool(
            self.one("SELECT 1 FROM tombstones WHERE uid = ? OR origin_sha256 = ?", (uid, hashed))
        )

    def history(self, uid: str) -> list[Edit]:
        """Return the edits of a memory, oldest first."""
        rows = self.all(
            "SELECT version, at, agent, reason, before FROM edits"
            " WHERE memory_id = (SELECT id FROM memories WHERE uid = ?) ORDER BY version, id",
            (uid,),
        )
        with EDIT:
            return [
                Edit(version, instant(at), agent, reason, fields(read_json(before)))
                for version, at, agent, reason, before in rows
            ]

    def relations(self, uid: str, *, removed: bool = False) -> list[Relation]:
        """Return the relations from and to a memory, oldest first; `removed` adds past ones."""
        rows = self.all(
            "SELECT f.uid, r.type, t.uid, r.note, r.agent, r.created_at, r.removed_at"
            f" FROM {'relations' if removed else 'links'} r"
            " JOIN memories f ON f.id = r.from_id JOIN memories t ON t.id = r.to_id"
            " WHERE r.from_id = (SELECT id FROM memories WHERE uid = :uid)"
            " OR r.to_id = (SELECT id FROM memories WHERE uid = :uid)"
            " ORDER BY r.created_at, r.type, f.uid, t.uid",
            {"uid": uid},
        )
        return [relation_of(row) for row in rows]

    # --- writing, inside `writing()` ----------------------------------------------------------

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

    # --- spaces and vectors -------------------------------------------------------------------

    def space(self) -> Space | None:
        """Return the store's embedding space, None while no vector was ever made."""
        rows = self.all(
            "SELECT model, sha256, dim, recipe FROM spaces"
            " WHERE id = (SELECT value FROM meta WHERE name = 'space')"
        )
        return Space(*rows[0]) if rows else None

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
        values = (passage_id, space_id, passage.embedding, passage.tokens)
        self.run("INSERT INTO vectors VALUES(?, ?, ?, ?, ?)", (*values, vector_checksum(*values)))

    def _update(self, id: int, memory: Memory) -> None:
        """Replace the fields of a memory."""
        self.run(
            f"UPDATE memories SET {', '.join(c + ' = ?' for c in COLUMNS)} WHERE id = ?",
            (*row_of(memory), id),
        )

    def _append(self, id: int, edit: Edit) -> None:
        """Append to the history of a memory."""
        self.run(INSERT_EDIT, edit_row(id, edit))

    # --- small --------------------------------------------------------------------------------

    def meta(self, name: str) -> str | None:
        """Return a remark the store keeps about itself."""
        value = self.one("SELECT value FROM meta WHERE name = ?", (name,))
        return None if value is None else str(value)

    def set_meta(self, name: str, value: str | None) -> None:
        """Keep a remark about the store; None takes it away."""
        if value is None:
            self.run("DELETE FROM meta WHERE name = ?", (name,))
        else:
            self.run(
                "INSERT OR REPLACE INTO meta VALUES(?, ?, ?)",
                (name, value, checksum((name, value))),
            )

    def model(self) -> str:
        """Return the name of the model this store wants."""
        return self.meta("model") or self.settings.model

    def _id(self, uid: str) -> int:
        """Return the engine's id of a memory."""
        found = self.one("SELECT id FROM memories WHERE uid = ?", (uid,))
        if found is None:
            raise NoSuchMemory(uid=_short(uid))
        return int(found)

    def _memory(self, sql: str, values: Sequence[Any]) -> Memory | None:
        """Return the oldest memory that meets a condition."""
        rows = self.all(
            f"SELECT {MEMORY} FROM memories m WHERE {sql} ORDER BY m.id LIMIT 1", values
        )
        return memory_of(rows[0]) if rows else None


def _marks(count: int) -> str:
    return ", ".join("?" * count)


def _short(uid: str) -> str:
    """Return what was given as a uid, cut so that a message stays one."""
    return uid if len(uid) <= 40 else uid[:39] + "…"
