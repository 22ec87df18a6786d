"""Words in SQLite: BM25 by FTS5, or where that takes long, from its postings in memory.

FTS5 ranks a microsecond for each posting, and joins every row it has ranked: six common words of
a million memories took it 5.9 s. A process that searches again and again reads the postings of a
word once for each state of the store, and ranks them in memory.
"""

from __future__ import annotations

import sys

from memai.lean import TYPE_CHECKING
from memai.queries import Clause
from memai.records import Scored, Where
from memai.store import postings
from memai.store.columns import condition
from memai.store.nearest import numbers
from memai.store.postings import WordIndex
from memai.store.spelling import phrase

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from memai.queries import WordQuery
    from memai.store.bm25 import Postings

# Weights of the columns words, tag_words, domain_words in BM25.
_WEIGHTS = "1.0, 1.0, 1.0"

_PLAIN = 300_000  # postings that FTS5 ranks in 100 ms: as long as it takes to get numpy ready
_PLAIN_WARM = 2_000  # the same where it is already there
_MOST = 1_000_000  # postings of one query: 150 ms to read at first, 30 to rank


class Words(WordIndex):
    """What ranks by words."""

    def by_words(
        self, query: WordQuery, where: Where, limit: int, excluded: Sequence[Clause] = ()
    ) -> list[Scored]:
        """Return the best memories by BM25 (higher is better), best first, ties by id."""
        match = match_expression(query, excluded)
        if match is None:
            return []
        if not self._quick(query.clauses):
            with self.reading():
                found = self._by_postings(query, where, limit, excluded)
            if found is not None:
                return found
        with self.reading():
            return self._by_fts5(match, where, limit)

    def too_common(self, query: WordQuery, where: Where) -> list[Clause]:
        """Return those clauses that so many memories hold that ranking by them takes too long.

        The rarest always stays, and what must occur; none is left out where the filter leaves few
        memories, so that what lies outside never decides what is found inside.
        """
        sized = [clause for clause in query.clauses if clause not in query.phrases]
        if self._memories() * len(sized) <= _MOST or self._inside(where) is not None:
            return []
        with self.reading():
            sizes = sorted((self._size(clause).cost, place) for place, clause in enumerate(sized))
        total, common = 0, []
        for size, place in sizes:
            total += size
            if total > _MOST and (place != sizes[0][1] or query.phrases):
                common.append(sized[place])
        return common

    def missing(self, clauses: Sequence[Clause]) -> list[Clause]:
        """See `Spelling.missing`; where that is read for the ranking anyhow, it is read now."""
        if "numpy" not in sys.modules:
            return super().missing(clauses)
        memories = self._memories()
        if memories * len(clauses) > _MOST:
            return [clause for clause in clauses if not self._size(clause).rows]
        if memories * len(clauses) > _PLAIN_WARM and memories <= postings.MANY:
            with self.reading():
                state = self._state(Where())
                if state is not None:
                    return [one for one in clauses if not self._postings(one, state).ids.size]
        return super().missing(clauses)

    # --- how long it takes --------------------------------------------------------------------

    def _memories(self) -> int:
        """Return how many memories there may be, at once."""
        return int(self.one("SELECT max(id) FROM memories") or 0)

    def _quick(self, clauses: Sequence[Clause]) -> bool:
        """Whether FTS5 itself is the quickest."""
        most = _PLAIN_WARM if "numpy" in sys.modules else _PLAIN
        if self._memories() * len(clauses) <= most:
            return True
        if most == _PLAIN_WARM:
            return False
        total = 0
        for clause in clauses:
            total += self._size(clause).cost
            if total > most:
                return False
        return True

    def _by_fts5(self, match: str, where: Where, limit: int) -> list[Scored]:
        """Return the best memories as `by_words` does, ranked by FTS5."""
        # bm25() is smaller for better matches; the rank of FTS5 has its sign.
        ranked = f"SELECT rowid AS id, -bm25(word_index, {_WEIGHTS}) AS score FROM word_index"
        matched = "WHERE word_index MATCH :match"
        values = {"match": match, "limit": 2 * limit}
        if self._inside(where) is None:
            # Joining what was ranked, and not all that is to be, takes half the time.
            rows = self.all(f"{ranked} {matched} ORDER BY score DESC, id LIMIT :limit", values)
            those = self._those_inside([row[0] for row in rows], where)
            found = [Scored(id, score) for id, score in rows if id in those]
            if len(found) >= limit or len(rows) < 2 * limit:
                return found[:limit]
        sql, more = condition(where)
        rows = self.all(
            f"SELECT m.id, -bm25(word_index, {_WEIGHTS}) AS score FROM word_index"
            f" JOIN memories m ON m.id = word_index.rowid {matched} AND {sql}"
            " ORDER BY score DESC, m.id LIMIT :limit",
            {**values, **more, "limit": limit},
        )
        return [Scored(id, score) for id, score in rows]

    def _by_postings(
        self, query: WordQuery, where: Where, limit: int, excluded: Sequence[Clause]
    ) -> list[Scored] | None:
        """Return the best memories as `by_words` does; None where only FTS5 can."""
        state = self._state(where)
        if state is None:
            return None
        import numpy as np

        from memai.store import bm25

        def read(clauses: Sequence[Clause]) -> list[Postings]:
            return [self._postings(clause, state) for clause in clauses]

        required = read(query.phrases)
        among: Any = None if state.inside is None else np.array(state.inside, np.int64)
        for one in required:
            among = one.ids if among is None else np.intersect1d(among, one.ids)
        ids, scores = bm25.scores(required + read(query.clauses), state.lengths, among)
        for one in read(excluded):
            kept = ~np.isin(ids, one.ids)
            ids, scores = ids[kept], scores[kept]
        width = limit + limit // 4  # where one in five is archived, one look will do
        while True:
            first, of_first = bm25.best(ids, scores, width)
            listed = first.tolist()
            found = list(map(Scored, listed, of_first.tolist()))
            if state.inside is None:
                those = self._those_inside(listed, where)
                found = [one for one in found if one.id in those]
            if len(found) >= limit or first.size == ids.size:
                return found[:limit]
            width = max(2 * width, width * limit // max(1, len(found)))

    def _those_inside(self, ids: list[int], where: Where) -> set[int]:
        """Return which of these memories lie in a filter."""
        sql, values = condition(where)
        rows = self.all(
            "SELECT m.id FROM carray(:ids) c CROSS JOIN memories m ON m.id = c.value WHERE " + sql,
            {**values, "ids": numbers(ids)},
        )
        return {row[0] for row in rows}


def match_expression(query: WordQuery, excluded: Sequence[Clause] = ()) -> str | None:
    """Return an FTS5 expression made only of quoted tokens, or None for nothing to match."""
    clauses = " OR ".join(phrase(clause) for clause in query.clauses)
    required = " AND ".join(phrase(clause) for clause in query.phrases)
    if not clauses and not required:
        return None
    # "a AND (a OR b)": what is required must occur, the rest raises the score.
    match = f"({required}) AND ({clauses})" if required and clauses else clauses or required
    for clause in excluded:
        match = f"({match}) NOT {phrase(clause)}"
    return match
