"""Words in SQLite: BM25 by FTS5, or where that takes long, from its postings here.

FTS5 ranks a microsecond for each posting, and joins every row it has ranked: six common words of
a million memories took it 5.9 s. A process that searches again and again reads the postings of a
word once for each state of the store, and ranks them in memory.
"""

from __future__ import annotations

import sys

import apsw

from memai.lean import TYPE_CHECKING
from memai.queries import Clause
from memai.records import Scored
from memai.store.columns import condition
from memai.store.nearest import Nearest, numbers
from memai.store.spelling import TOKENIZER, Spelling, phrase
from memai.store.transactions import GENERATION

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from memai.queries import WordQuery
    from memai.records import Where
    from memai.store.bm25 import Lengths, Postings
    from memai.store.caches import Caches

# Weights of the columns words, tag_words, domain_words in BM25.
_WEIGHTS = "1.0, 1.0, 1.0"
_COLUMNS = 3

_PLAIN = 300_000  # postings that FTS5 ranks in 100 ms: as long as it takes to get numpy ready
_PLAIN_WARM = 2_000  # the same where it is already there
_MOST = 1_000_000  # postings of one query: 150 ms to read at first, 30 to rank
_PHRASE = 10  # postings that one of a phrase costs: it is counted in Python
_KEPT = 48 << 20  # bytes of postings that are kept for the next search, 5 for each
_LAST = "\U0010ffff"

# What the word index holds, by word: how many rows and how often, or one row for each occurrence.
_VOCABULARY = """
CREATE VIRTUAL TABLE IF NOT EXISTS temp.held
  USING fts5vocab('main', 'word_index', 'row');
CREATE VIRTUAL TABLE IF NOT EXISTS temp.occurrences
  USING fts5vocab('main', 'word_index', 'instance');
"""


class Words(Spelling, Nearest):
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
            sizes = sorted((self._size(clause), place) for place, clause in enumerate(sized))
        total, common = 0, []
        for size, place in sizes:
            total += size
            if total > _MOST and (place != sizes[0][1] or query.phrases):
                common.append(sized[place])
        return common

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
            total += self._size(clause)
            if total > most:
                return False
        return True

    def _size(self, clause: Clause) -> int:
        """Return how many postings a clause has, as remembered if that is of this state."""
        caches = self.caches() if "numpy" in sys.modules else None
        if caches is None:
            return self._counted(clause)
        changes = int(self.meta("changes") or 0)
        known = caches.sizes.get(clause) if caches.words_changes == changes else None
        if known is None:
            known = self._counted(clause)
            with caches.lock:
                if caches.words_changes == changes:
                    caches.sizes[clause] = known
        return known

    def _counted(self, clause: Clause) -> int:
        """Return how many postings a clause has, or what they cost: 11 ns each to count."""
        low, high = self._terms(clause)
        if low is None:
            match = "SELECT count(*) FROM word_index WHERE word_index MATCH ?"
            return _PHRASE * int(self.one(match, (phrase(clause),)))
        self._make_vocabulary()
        sql = "SELECT sum(cnt) FROM temp.held WHERE term >= ? AND term <= ?"
        return int(self.one(sql, (low, high)) or 0)

    def _terms(self, clause: Clause) -> tuple[str | None, str]:
        """Return the first and last term of the index that a clause means; None for a phrase."""
        tokenizer = self.raw().fts5_tokenizer(*TOKENIZER)
        reason = apsw.FTS5_TOKENIZE_QUERY | (clause.prefix and apsw.FTS5_TOKENIZE_PREFIX)
        text = " ".join(clause.tokens).encode()
        terms: Any = tokenizer(text, reason, None, include_offsets=False)
        if len(terms) != 1:
            return None, ""
        term = str(terms[0][0])
        return term, term + _LAST if clause.prefix else term

    def _make_vocabulary(self) -> None:
        """Make the tables that show what is in the word index; they are this connection's."""
        if self._tables_of is not self.raw():
            self.raw().execute(_VOCABULARY).fetchall()
            self._tables = _VOCABULARY

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

    # --- postings -----------------------------------------------------------------------------

    def _by_postings(
        self, query: WordQuery, where: Where, limit: int, excluded: Sequence[Clause]
    ) -> list[Scored] | None:
        """Return the best memories as `by_words` does; None where only FTS5 can."""
        caches = self.caches()
        if caches is None:
            return None
        self._make_vocabulary()
        changes = int(self.meta("changes") or 0)
        known = self._lengths(caches, changes)
        if known is None:
            return None
        import numpy as np

        from memai.store import bm25

        def read(clauses: Sequence[Clause]) -> list[Postings]:
            return [self._postings(clause, caches, changes, known.last) for clause in clauses]

        required = read(query.phrases)
        inside = self._inside(where)
        among: Any = None if inside is None else np.array(inside, np.int64)
        for one in required:
            among = one.ids if among is None else np.intersect1d(among, one.ids)
        ids, scores = bm25.scores(required + read(query.clauses), known, among)
        for one in read(excluded):
            kept = ~np.isin(ids, one.ids)
            ids, scores = ids[kept], scores[kept]
        width = limit + limit // 4  # where one in five is archived, one look will do
        while True:
            first, of_first = bm25.best(ids, scores, width)
            listed = first.tolist()
            those = self._those_inside(listed, where)
            found = [
                Scored(id, score)
                for id, score in zip(listed, of_first.tolist(), strict=True)
                if id in those
            ]
            if len(found) >= limit or first.size == ids.size:
                return found[:limit]
            width = max(2 * width, width * limit // max(1, len(found)))

    def _those_inside(self, ids: list[int], where: Where) -> set[int]:
        """Return which of these memories lie in a filter."""
        if not ids:  # an array of none cannot be bound
            return set()
        sql, values = condition(where)
        rows = self.all(
            "SELECT m.id FROM carray(:ids) c CROSS JOIN memories m ON m.id = c.value WHERE " + sql,
            {**values, "ids": numbers(ids)},
        )
        return {row[0] for row in rows}

    def _lengths(self, caches: Caches, changes: int) -> Lengths | None:
        """Return how long the rows of the index are, in this state of the store."""
        rewritten = self.meta("rewritten")
        with caches.lock:
            if caches.words_changes == changes and caches.lengths is not None:
                return caches.lengths
            before = caches.lengths if rewritten == caches.rewritten else None
            if not 0 < changes - caches.words_changes < GENERATION:
                before = None
        known = self._read_lengths(before)
        with caches.lock:
            if changes <= caches.words_changes:
                return known
            if before is not None and before is caches.lengths:
                caches.extend_words(changes, known)
            else:
                caches.renew_words(changes, rewritten, known)
        return known

    def _read_lengths(self, before: Lengths | None) -> Lengths | None:
        """Return how long rows are, where those of the rows before are known."""
        from memai import numeric

        numeric.prepare()
        import numpy as np

        from memai.store import bm25

        first = 1 + (before.last if before is not None else 0)
        sizes = self.one(
            "SELECT CAST(group_concat(sz, '') AS BLOB)"
            " FROM (SELECT sz FROM word_index_docsize WHERE id >= ? ORDER BY id)",
            (first,),
        )
        last = int(self.one("SELECT max(id) FROM word_index_docsize") or 0)
        # Where there are as many rows as the last id says, none is missing.
        known = bm25.lengths(np.arange(first, last + 1), sizes or b"", _COLUMNS, before)
        if known is not None:
            return known
        listed = self.one(
            "SELECT group_concat(id)"
            " FROM (SELECT id FROM word_index_docsize WHERE id >= ? ORDER BY id)",
            (first,),
        )
        ids = np.fromstring(listed or "", np.int64, sep=",")
        return bm25.lengths(ids, sizes or b"", _COLUMNS, before)

    def _postings(self, clause: Clause, caches: Caches, changes: int, last: int) -> Postings:
        """Return the postings of a clause, in this state of the store."""
        from memai.store import bm25

        with caches.lock:
            known = caches.kept_postings(clause) if caches.words_changes == changes else None
        if known is not None and known.last == last:
            return known
        low, high = self._terms(clause)
        if known is None and low is not None:
            listed = self.one(
                "SELECT group_concat(doc) FROM temp.occurrences WHERE term >= ? AND term <= ?",
                (low, high),
            )
        else:
            self.raw().register_fts5_function("occurrences", _occurrences)
            rows = self.all(
                "SELECT occurrences(word_index) FROM word_index"
                " WHERE word_index MATCH ? AND rowid > ?",
                (phrase(clause), known.last if known is not None else 0),
            )
            listed = ",".join([row[0] for row in rows])
        found = bm25.postings(listed or "", last, known)
        with caches.lock:
            if caches.words_changes == changes:
                caches.keep_postings(clause, found, _KEPT)
        return found


def _occurrences(row: apsw.FTS5ExtensionApi, *_: object) -> str:
    """Return the id of a row, as often as it holds the phrase, with commas between them."""
    count = sum(map(len, row.phrase_locations(0)))
    return ",".join([str(row.rowid)] * count)


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
