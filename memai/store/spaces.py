"""Embedding spaces as a whole: what lacks vectors, how a new space is filled and switched to."""

import json
from collections.abc import Sequence

from memai.records import Embedded, Memory, Passage, Space
from memai.store.columns import CURRENT_SPACE, MEMORY, memory_of
from memai.store.packed import BLOCK
from memai.store.writing import Writing, vector_row

_OF_SPACE = (
    "EXISTS(SELECT 1 FROM passages p JOIN vectors v ON v.passage_id = p.id"
    " JOIN spaces s ON s.id = v.space_id"
    " WHERE p.memory_id = m.id AND (s.model, s.sha256, s.dim, s.recipe) = (?, ?, ?, ?))"
)


class Spaces(Writing):
    """Vectors of many memories."""

    def unembedded(self, space: Space, limit: int, after: int = 0) -> list[tuple[int, Memory]]:
        """Return memories that have no vectors in this space, oldest first, after an engine id."""
        rows = self.all(
            f"SELECT {MEMORY} FROM memories m WHERE m.id > ? AND NOT {_OF_SPACE}"
            " ORDER BY m.id LIMIT ?",
            (after, *space, limit),
        )
        return [(row[0], memory_of(row)) for row in rows]

    def embedded(self, limit: int, after: int = 0) -> list[tuple[int, Memory, Embedded]]:
        """Return memories with what is kept of them in the store's space, by engine id."""
        space = self.space()
        found = []
        for row in self.all(
            f"SELECT {MEMORY} FROM memories m WHERE m.id > ? ORDER BY m.id LIMIT ?", (after, limit)
        ):
            passages = self.all(
                'SELECT p."start", p."end", v.embedding, coalesce(v.tokens, x\'\') FROM passages p'
                f" LEFT JOIN vectors v ON v.passage_id = p.id AND v.space_id = {CURRENT_SPACE}"
                " WHERE p.memory_id = ? ORDER BY p.id",
                (row[0],),
            )
            kept = tuple(Passage(*passage) for passage in passages)
            found.append((row[0], memory_of(row), Embedded(space, kept)))
        return found

    def put_vectors(self, space: Space, memories: Sequence[tuple[int, Memory, Embedded]]) -> int:
        """Add the vectors of memories that are still at that version; return how many."""
        space_id = self._space_id(space)
        old_id = self.one(f"SELECT {CURRENT_SPACE}")
        still = self._still(memories)
        at = self._passage_ids([id for id, _, _ in still])
        rows = []
        for id, _, embedded in still:
            for passage in embedded.passages:
                passage_id = at.get((id, passage.start, passage.end))
                if passage_id is None:  # this space cuts texts differently
                    passage_id = self.put_passage(id, passage.start, passage.end)
                rows.append(vector_row(passage_id, space_id, passage))
        self.run_many("INSERT OR REPLACE INTO vectors VALUES(?, ?, ?, ?, ?)", rows)
        if old_id is None:
            self.set_meta("space", str(space_id))
        elif int(old_id) == space_id and still:  # vectors of passages that had none so far
            self._begin_generation()
        return len(still)

    def put_passages(self, memories: Sequence[tuple[int, Memory, Embedded]]) -> int:
        """Replace passages and vectors of memories still at that version; return how many."""
        still = self._still(memories)
        for id, _, embedded in still:
            self.run("DELETE FROM passages WHERE memory_id = ?", (id,))
            self._put_passages(id, embedded)
        return len(still)

    def switch_space(self, space: Space) -> bool:
        """Make this the store's space; false while vectors are missing."""
        if self.unembedded(space, 1):
            return False
        self.set_meta("space", str(self._space_id(space)))
        self.set_meta("model", space.model)
        self._begin_generation()
        return True

    def clear_spaces(self, limit: int, after: int = 0) -> int:
        """Drop what other spaces keep of up to `limit` passages, by engine id, after one.

        Returns where to go on, 0 at the end.
        """
        last = self.one(
            "SELECT max(id) FROM (SELECT id FROM passages WHERE id > ? ORDER BY id LIMIT ?)",
            (after, limit),
        )
        if last is None:
            self.run(
                f"DELETE FROM spaces WHERE id <> {CURRENT_SPACE}"
                " AND NOT EXISTS(SELECT 1 FROM vectors v WHERE v.space_id = spaces.id)"
            )
            return 0
        # First, or each of those vectors would be taken out of its block.
        self.run(
            f"DELETE FROM packed WHERE block BETWEEN ? AND ? AND space_id <> {CURRENT_SPACE}",
            (after // BLOCK, last // BLOCK),
        )
        self.run(
            "DELETE FROM vectors WHERE passage_id > ? AND passage_id <= ?"
            f" AND space_id <> {CURRENT_SPACE}",
            (after, last),
        )
        # Where the other space cut texts differently; not what was stored without a model since.
        self.run(
            "DELETE FROM passages WHERE id > ? AND id <= ?"
            " AND NOT EXISTS(SELECT 1 FROM vectors v WHERE v.passage_id = passages.id)"
            " AND EXISTS(SELECT 1 FROM passages p JOIN vectors v ON v.passage_id = p.id"
            f" WHERE p.memory_id = passages.memory_id AND v.space_id = {CURRENT_SPACE})",
            (after, last),
        )
        return int(last)

    def _still(
        self, memories: Sequence[tuple[int, Memory, Embedded]]
    ) -> list[tuple[int, Memory, Embedded]]:
        """Return those that are as they were read; the others their last writer has embedded."""
        ids = json.dumps([id for id, _, _ in memories])
        versions = dict(
            self.all(
                "SELECT id, version FROM memories WHERE id IN (SELECT value FROM json_each(?))",
                (ids,),
            )
        )
        return [one for one in memories if versions.get(one[0]) == one[1].version]

    def _passage_ids(self, memories: Sequence[int]) -> dict[tuple[int, int, int], int]:
        """Return the ids of the passages of some memories by (memory, start, end)."""
        rows = self.all(
            'SELECT memory_id, "start", "end", id FROM passages'
            " WHERE memory_id IN (SELECT value FROM json_each(?))",
            (json.dumps(memories),),
        )
        return {(memory, start, end): id for memory, start, end, id in rows}
