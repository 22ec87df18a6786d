"""What imports, exports and syncs ask of the engine: many memories at once, and other stores."""

import json
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import apsw

from memai.records import (
    Edit,
    Embedded,
    Known,
    Memory,
    Origin,
    Passage,
    Relation,
    Synced,
    Tombstone,
    Where,
)
from memai.store import SpaceChanged
from memai.store.columns import (
    COLUMNS,
    CURRENT_SPACE,
    INSERT_EDIT,
    MEMORY,
    condition,
    digest,
    edit_row,
    instant,
    memory_of,
    relation_of,
    row_of,
)
from memai.store.driver import BULK
from memai.store.erasing import Erasing
from memai.store.sums import checksum
from memai.store.writing import INSERT_VECTOR, vector_row
from memai.when import to_micros

# Memories of one page of an export: each may be a megabyte.
_PAGE = 100
# So many make a bulk; see `driver.BULK`.
_MANY = 100
_NONE: Mapping[str, Any] = MappingProxyType({})
_INSERT = f"INSERT INTO memories({', '.join(COLUMNS)}) VALUES({', '.join('?' * len(COLUMNS))})"


class Exchange(Erasing):
    """Memories as they come from elsewhere and go there."""

    def export(self, where: Where) -> Iterator[tuple[Memory, list[Edit], list[Relation]]]:
        """Yield every memory of the filter with its history and outgoing relations, by uid."""
        sql, values = condition(where)
        # Page by page, so that no read lasts longer than a page and the log can be folded in.
        last = ""
        while True:
            rows = self.all(
                f"SELECT {MEMORY} FROM memories m WHERE {sql} AND m.uid > :last"
                " ORDER BY m.uid LIMIT :page",
                {**values, "last": last, "page": _PAGE},
            )
            if not rows:
                return
            outgoing = self._outgoing([row[0] for row in rows])
            for row in rows:
                memory = memory_of(row)
                history = self.history(memory.uid) if memory.version > 1 else []
                yield memory, history, outgoing.get(memory.uid, [])
            last = rows[-1][1]

    def _outgoing(self, ids: list[int]) -> dict[str, list[Relation]]:
        """Return the relations from some memories, past ones too, by uid and in a stable order."""
        found: dict[str, list[Relation]] = {}
        for row in self.all(
            "SELECT f.uid, r.type, t.uid, r.note, r.agent, r.created_at, r.removed_at"
            " FROM relations r JOIN memories f ON f.id = r.from_id"
            " JOIN memories t ON t.id = r.to_id"
            " WHERE r.from_id IN (SELECT value FROM json_each(?)) ORDER BY r.type, t.uid",
            (json.dumps(ids),),
        ):
            found.setdefault(row[0], []).append(relation_of(row))
        return found

    def known(self, memories: Sequence[Memory]) -> Known:
        """Return what is here under the uids, keys and origins of some memories."""
        keys = [memory.key for memory in memories if memory.key is not None]
        origins = {m.origin for m in memories if m.origin is not None}
        by_uid = self._those("m.uid", [memory.uid for memory in memories])
        by_key = self._those("m.key", keys) if keys else []
        by_origin: list[Memory] = []
        for system in {origin.system for origin in origins}:
            names = [origin.key for origin in origins if origin.system == system]
            by_origin += self._those("m.origin_key", names, "m.origin_system = :more", system)
        return Known(
            uids={memory.uid: memory for memory in by_uid},
            keys={memory.key: memory for memory in by_key if memory.key is not None},
            origins={memory.origin: memory for memory in by_origin if memory.origin is not None},
            buried=self._graves([memory.uid for memory in memories], origins),
        )

    def present(self, uids: set[str]) -> set[str]:
        """Return which of these uids there are."""
        rows = self.all(
            "SELECT uid FROM memories WHERE uid IN (SELECT value FROM json_each(?))",
            (json.dumps(sorted(uids)),),
        )
        return {row[0] for row in rows}

    def relation(self, from_uid: str, type: str, to_uid: str) -> Relation | None:
        """Return what is known of one relation, also that it was taken away."""
        rows = self.all(
            "SELECT f.uid, r.type, t.uid, r.note, r.agent, r.created_at, r.removed_at"
            " FROM relations r JOIN memories f ON f.id = r.from_id"
            " JOIN memories t ON t.id = r.to_id WHERE f.uid = ? AND r.type = ? AND t.uid = ?",
            (from_uid, type, to_uid),
        )
        return relation_of(rows[0]) if rows else None

    @staticmethod
    def encode(memory: Memory) -> object:
        """Return the row of a memory, for `adopt`."""
        return row_of(memory)

    def adopt(
        self,
        memories: Sequence[tuple[Memory, Sequence[Edit], Embedded | None]],
        encoded: Mapping[str, Any] = _NONE,
    ) -> None:
        """Keep memories with their whole histories, new or in place of ours.

        Raises SpaceChanged.
        """
        if len(memories) >= _MANY:
            self.run(BULK)
        known = self._ids([memory.uid for memory, _, _ in memories])
        fresh = [memory for memory, _, _ in memories if memory.uid not in known]
        self._insert_all([(encoded.get(m.uid) or row_of(m)) for m in fresh])
        ids = {**known, **self._ids([memory.uid for memory in fresh])}
        for memory, _, embedded in memories:
            if memory.uid in known:
                id = known[memory.uid]
                self._update(id, memory)
                self.run("DELETE FROM edits WHERE memory_id = ?", (id,))
                if embedded is not None:
                    self.run("DELETE FROM passages WHERE memory_id = ?", (id,))
        self.run_many(
            INSERT_EDIT,
            [edit_row(ids[m.uid], edit) for m, history, _ in memories for edit in history],
        )
        self._embed_all([(ids[m.uid], e) for m, _, e in memories if e is not None])

    def tombstones(self) -> Iterator[Tombstone]:
        """Yield what was purged here."""
        for uid, at, origin in self.all(
            "SELECT uid, purged_at, origin_sha256 FROM tombstones ORDER BY uid"
        ):
            yield Tombstone(uid, instant(at), origin)

    def bury(self, tombstone: Tombstone) -> bool:
        """Purge what another copy of this store purged; return whether it was here."""
        here = self.find(tombstone.uid) is not None
        if here:
            self.remove(tombstone.uid, tombstone.at)
        elif not self.buried(tombstone.uid):
            values = (tombstone.uid, to_micros(tombstone.at), tombstone.origin_sha256)
            self.run("INSERT INTO tombstones VALUES(?, ?, ?, ?)", (*values, checksum(values)))
        return here

    def synced(self, folder: str) -> Iterator[Synced]:
        """Yield what is remembered of the pages in a folder."""
        for row in self.all(
            "SELECT m.uid, s.path, s.size, s.mtime, s.sha256, s.said FROM synced s"
            " JOIN memories m ON m.id = s.memory_id WHERE s.folder = ?",
            (folder,),
        ):
            yield Synced(*row)

    def put_synced(self, folder: str, pages: Sequence[Synced]) -> None:
        """Remember what pages said; those of memories that are gone are left out."""
        ids = self._ids([page.uid for page in pages])
        rows = []
        for page in pages:
            if page.uid in ids:
                row = (folder, ids[page.uid], *page[1:])
                rows.append((*row, checksum(row)))
        self.run_many("INSERT OR REPLACE INTO synced VALUES(?, ?, ?, ?, ?, ?, ?, ?)", rows)

    def pages_of(self, uid: str) -> list[str]:
        """Return the paths of the pages of a memory in all folders."""
        rows = self.all(
            "SELECT s.folder, s.path FROM synced s JOIN memories m ON m.id = s.memory_id"
            " WHERE m.uid = ? AND s.path <> '' ORDER BY s.folder",
            (uid,),
        )
        return [f"{folder}/{path}" for folder, path in rows]

    def passages_of(self, uids: Sequence[str]) -> dict[str, Embedded]:
        """Return the passages of memories as the store's space sees them."""
        space = self.space()
        found: dict[str, list[Passage]] = {uid: [] for uid in uids}
        for uid, *passage in self.all(
            'SELECT m.uid, p."start", p."end", v.embedding, v.tokens FROM memories m'
            f" JOIN passages p ON p.memory_id = m.id JOIN vectors v ON v.passage_id = p.id"
            f" AND v.space_id = {CURRENT_SPACE}"
            " WHERE m.uid IN (SELECT value FROM json_each(?)) ORDER BY p.id",
            (json.dumps(list(uids)),),
        ):
            found[uid].append(Passage(*passage))
        return {uid: Embedded(space, tuple(kept)) for uid, kept in found.items()}

    # --- steps --------------------------------------------------------------------------------

    def _those(
        self, column: str, values: list[str], also: str = "1", more: str = ""
    ) -> list[Memory]:
        """Return the memories with one of these values in a column."""
        rows = self.all(
            f"SELECT {MEMORY} FROM memories m WHERE {also}"
            f" AND {column} IN (SELECT value FROM json_each(:values))",
            {"values": json.dumps(values), "more": more},
        )
        return [memory_of(row) for row in rows]

    def _ids(self, uids: list[str]) -> dict[str, int]:
        """Return the engine's ids of those memories that there are."""
        rows = self.all(
            "SELECT uid, id FROM memories WHERE uid IN (SELECT value FROM json_each(?))",
            (json.dumps(uids),),
        )
        return dict(rows)

    def _graves(self, uids: list[str], origins: set[Origin]) -> frozenset[str | Origin]:
        """Return which uids and origins were purged here."""
        rows = self.all(
            "SELECT uid FROM tombstones WHERE uid IN (SELECT value FROM json_each(?))",
            (json.dumps(uids),),
        )
        buried: set[str | Origin] = {row[0] for row in rows}
        if origins and self.one("SELECT 1 FROM tombstones WHERE origin_sha256 IS NOT NULL LIMIT 1"):
            hashed = {digest("\0".join(origin)).hex(): origin for origin in origins}
            rows = self.all(
                "SELECT lower(hex(origin_sha256)) FROM tombstones WHERE origin_sha256 IS NOT NULL"
                " AND lower(hex(origin_sha256)) IN (SELECT value FROM json_each(?))",
                (json.dumps(list(hashed)),),
            )
            buried |= {hashed[row[0]] for row in rows}
        return frozenset(buried)

    def _insert_all(self, memories: Sequence[tuple[Any, ...]]) -> None:
        """Add new memories, and their words all at once, which takes half of the time."""
        if not memories:
            return
        connection = self.raw()
        first = int(self.one("SELECT coalesce(max(id), 0) FROM memories"))
        connection.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
        try:
            self.run_many(_INSERT, memories)
        finally:
            connection.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 1)
        self.run(
            "INSERT INTO word_index(rowid, words, tag_words, domain_words)"
            " SELECT id, words, tag_words, domain_words FROM indexed WHERE id > ? ORDER BY id",
            (first,),
        )
        self.run(
            "INSERT INTO gram_index(rowid, content)"
            " SELECT id, content FROM memories WHERE id > ? ORDER BY id",
            (first,),
        )

    def _embed_all(self, embedded: Sequence[tuple[int, Embedded]]) -> None:
        """Add the passages and vectors of memories, in the store's space as it is now."""
        spaces = {one.space for _, one in embedded if one.space is not None}
        now = self.space()
        if len(spaces | ({now} if now else set())) > 1:
            raise SpaceChanged
        space_id = self._space_id(spaces.pop()) if spaces else None
        if space_id is not None and now is None:
            self.set_meta("space", str(space_id))
        last = int(self.one("SELECT seq FROM sqlite_sequence WHERE name = 'passages'") or 0)
        passages, vectors = [], []
        for memory_id, one in embedded:
            for passage in one.passages:
                last += 1
                row = (memory_id, passage.start, passage.end)
                passages.append((last, *row, checksum(row)))
                if one.space is not None and space_id is not None:
                    vectors.append(vector_row(last, space_id, passage))
        self.run_many(
            'INSERT INTO passages(id, memory_id, "start", "end", crc) VALUES(?, ?, ?, ?, ?)',
            passages,
        )
        self.run_many(INSERT_VECTOR, vectors)
