"""Embedding spaces as a whole: what lacks vectors, how a new space is filled and switched to."""

from collections.abc import Iterable

from memai.records import Embedded, Memory, Passage, Space
from memai.store.columns import MEMORY, memory_of
from memai.store.overview import CURRENT_SPACE
from memai.store.writing import Writing

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

    def put_vectors(self, space: Space, memories: Iterable[tuple[int, Memory, Embedded]]) -> int:
        """Add the vectors of memories that are still at that version; return how many."""
        done = 0
        space_id = self._space_id(space)
        old_id = self.one(f"SELECT {CURRENT_SPACE}")
        for id, memory, embedded in memories:
            if not self._still(id, memory):
                continue
            known = self.all('SELECT "start", "end", id FROM passages WHERE memory_id = ?', (id,))
            at = {(start, end): passage for start, end, passage in known}
            for passage in embedded.passages:
                passage_id = at.get((passage.start, passage.end))
                if passage_id is None:  # this space cuts texts differently
                    passage_id = self.put_passage(id, passage.start, passage.end)
                self.run(
                    "DELETE FROM vectors WHERE passage_id = ? AND space_id = ?",
                    (passage_id, space_id),
                )
                self.put_vector(passage_id, space_id, passage)
            done += 1
        if old_id is None:
            self.set_meta("space", str(space_id))
        return done

    def put_passages(self, memories: Iterable[tuple[int, Memory, Embedded]]) -> int:
        """Replace passages and vectors of memories still at that version; return how many."""
        done = 0
        for id, memory, embedded in memories:
            if self._still(id, memory):
                self.run("DELETE FROM passages WHERE memory_id = ?", (id,))
                self._put_passages(id, embedded)
                done += 1
        return done

    def switch_space(self, space: Space) -> bool:
        """Make this the store's space and drop the others; false while vectors are missing."""
        if self.unembedded(space, 1):
            return False
        space_id = self._space_id(space)
        self.set_meta("space", str(space_id))
        self.set_meta("model", space.model)
        self.run("DELETE FROM vectors WHERE space_id <> ?", (space_id,))
        self.run("DELETE FROM spaces WHERE id <> ?", (space_id,))
        self.run("DELETE FROM passages WHERE id NOT IN (SELECT passage_id FROM vectors)")
        return True

    def _still(self, id: int, memory: Memory) -> bool:
        """Whether a memory is as it was read; if not, its last writer has embedded it."""
        version = self.one("SELECT version FROM memories WHERE id = ?", (id,))
        return bool(version == memory.version)
