"""Memories, their history and their relations, read from rows; `writing` keeps them."""

from __future__ import annotations

from memai.errors import AmbiguousUid, NoSuchMemory
from memai.lean import TYPE_CHECKING
from memai.records import Beginning, Edit, Space
from memai.store.columns import (
    CURRENT_SPACE,
    EDIT,
    MEMORY,
    REPLACED,
    condition,
    content_hash,
    digest,
    domain_key,
    fields,
    instant,
    memory_of,
    read_json,
    relation_of,
)
from memai.store.connection import Connection

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from memai.records import Memory, Origin, Relation, Where

_UID_CHARACTERS = "0123456789abcdefghjkmnpqrstvwxyz"  # see `checking.UID_ALPHABET`

# What the index by time holds of each memory, and how many of the newest are looked through there
# for those of a domain: 0.2 ms, where the index of domains has 140,000 to be sorted in 30.
_BY_TIME = "id, created_at, type, status, domain_key, tag_keys"
_RECENT = 2_000


class Rows(Connection):
    """What is kept of each memory."""

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
        earlier = "1"
        if after is not None:
            earlier = "(created_at, id) < (SELECT created_at, id FROM memories WHERE uid = :after)"
            values["after"] = self.resolve(after)
        sources = [f"(SELECT * FROM memories WHERE {earlier})"]
        if where.domain is not None and where.session is None and limit <= _RECENT:
            # Sessions are not in that index, and have one of their own.
            newest = "ORDER BY created_at DESC, id DESC LIMIT"
            recent = f"(SELECT {_BY_TIME} FROM memories WHERE {earlier} {newest} {_RECENT})"
            sources.insert(0, recent)
        rows: list[Any] = []
        for source in sources:
            rows = self.all(
                f"SELECT {MEMORY} FROM (SELECT m.id FROM {source} m WHERE {sql}"
                " ORDER BY m.created_at DESC, m.id DESC LIMIT :limit) newest"
                " CROSS JOIN memories m ON m.id = newest.id ORDER BY m.created_at DESC, m.id DESC",
                {**values, "limit": limit},
            )
            if len(rows) == limit:
                break
        return [memory_of(row) for row in rows]

    def beginnings(self, where: Where, begins: str, depth: int) -> list[Beginning]:
        """Return those of the `depth` newest memories whose uid begins so, newest first."""
        sql, values = condition(where)
        rows = self.all(
            "SELECT m.uid, m.type, m.status = 'active' AND NOT "
            + REPLACED
            + ", substr(m.content, 1, 400)"
            f" FROM (SELECT m.id FROM memories m WHERE {sql}"
            " ORDER BY m.created_at DESC, m.id DESC LIMIT :depth) newest"
            " JOIN memories m ON m.id = newest.id"
            " WHERE substr(m.uid, 1, length(:begins)) = :begins"
            " ORDER BY m.created_at DESC, m.id DESC",
            {**values, "begins": begins, "depth": depth},
        )
        return [Beginning(uid, type, bool(current), text) for uid, type, current, text in rows]

    def count(self, where: Where) -> int:
        """Return how many memories are in this filter."""
        sql, values = condition(where)
        return int(self.one(f"SELECT count(*) FROM memories m WHERE {sql}", values))

    def count_types(self, where: Where, types: Sequence[str]) -> list[int]:
        """Return how many memories of each of these types are in this filter."""
        sql, values = condition(where)
        values |= {f"type{place}": type for place, type in enumerate(types)}
        sums = ", ".join(f"total(m.type = :type{place})" for place in range(len(types)))
        ((*found,),) = self.all(f"SELECT {sums} FROM memories m WHERE {sql}", values)
        return [int(count) for count in found]

    def with_key(self, key: str) -> Memory | None:
        """Return the memory that was written with this caller's key."""
        return self._memory("m.key = ?", (key,))

    def same(self, memory: Memory) -> Memory | None:
        """Return a current memory of the same type, domain and content."""
        hashed = content_hash(memory.content)
        # Most often there is none, which is known in a tenth of the time.
        if not self.one("SELECT 1 FROM memories WHERE content_hash = ?", (hashed,)):
            return None
        return self._memory(
            "m.content_hash = ? AND m.type = ? AND m.domain_key IS ? AND m.content = ?"
            f" AND m.status = 'active' AND NOT {REPLACED}",
            (hashed, memory.type, domain_key(memory.domain), memory.content),
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

    # --- spaces and vectors -------------------------------------------------------------------

    def space(self) -> Space | None:
        """Return the store's embedding space, None while no vector was ever made."""
        rows = self.all(f"SELECT model, sha256, dim, recipe FROM spaces WHERE id = {CURRENT_SPACE}")
        return Space(*rows[0]) if rows else None

    # --- small --------------------------------------------------------------------------------

    def meta(self, name: str) -> str | None:
        """Return a remark the store keeps about itself."""
        value = self.one("SELECT value FROM meta WHERE name = ?", (name,))
        return None if value is None else str(value)

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


def _short(uid: str) -> str:
    """Return what was given as a uid, cut so that a message stays one."""
    return uid if len(uid) <= 40 else uid[:39] + "…"
