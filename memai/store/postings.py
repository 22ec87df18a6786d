"""Postings: which rows of SQLite's word index hold a word, read once and kept in memory."""

from __future__ import annotations

import sys

import apsw

from memai.lean import TYPE_CHECKING, NamedTuple
from memai.queries import Clause
from memai.store.nearest import Nearest, numbers
from memai.store.schema import INDEXED
from memai.store.spelling import TOKENIZER, Spelling, phrase
from memai.store.transactions import GENERATION

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from numpy.typing import NDArray

    from memai.records import Where
    from memai.store.bm25 import Lengths, Postings
    from memai.store.caches import Caches
    from memai.store.forward import Forward

# The columns words, tag_words, domain_words.
_COLUMNS = 3
_PHRASE = 10  # postings that one of a phrase costs: it is counted in Python
_KEPT = 48 << 20  # bytes of postings that are kept for the next search, 5 for each
# Memories from which a word that was not read before is looked for only in the few that a filter
# leaves: of a million that takes a quarter of the time, but helps no search in another filter.
MANY = 30_000
_INSIDE = 1_000  # words that are kept of what was found so: 1 KB each in a domain of 500 memories
_WALKS = 10  # words that are looked for in a filter before: it is searched again and again
_SIZES = 10_000  # words of which it is kept how common they are
# Words that are read at once, 10 ms for the 25,000 of 500 memories, for a later search in the same
# filter; and how many are kept, 12 bytes for each and 100 for each different one.
_FEW = 50_000
_FORWARD = 250_000
_LAST = "\U0010ffff"

# What the word index holds, by word: how many rows and how often, or one row for each occurrence.
_VOCABULARY = """
CREATE VIRTUAL TABLE IF NOT EXISTS temp.held
  USING fts5vocab('main', 'word_index', 'row');
CREATE VIRTUAL TABLE IF NOT EXISTS temp.occurrences
  USING fts5vocab('main', 'word_index', 'instance');
"""


class Size(NamedTuple):
    """How common a clause is.

    `rows` is in how many it occurs, at most, and exactly but for a word that is only begun; `cost`
    says in postings what it takes to read them.
    """

    rows: int
    cost: int


class State(NamedTuple):
    """What of the store is searched, in one of its states, and what is kept of that.

    `inside` are the memories in the filter where it leaves few.
    """

    caches: Caches
    changes: int
    lengths: Lengths
    where: Where
    inside: list[int] | None


class WordIndex(Spelling, Nearest):
    """What reads the word index as a whole."""

    _counting_of: apsw.Connection | None = None

    def _state(self, where: Where) -> State | None:
        """Return what is known of the words in this state of the store; None where nothing is."""
        caches = self.caches()
        if caches is None:
            return None
        changes = int(self.meta("changes") or 0)
        lengths = self._lengths(caches, changes)
        if lengths is None:
            return None
        return State(caches, changes, lengths, where, self._inside(where))

    def _size(self, clause: Clause) -> Size:
        """Return how common a clause is, as remembered if that is of this state."""
        caches = self.caches() if "numpy" in sys.modules else None
        if caches is None:
            return self._counted(clause)
        changes = int(self.meta("changes") or 0)
        self._lengths(caches, changes)  # as the ranking will; from then on sizes of it are kept
        with caches.lock:
            known = caches.sizes.get(clause) if caches.words_changes == changes else None
        if known is None:
            known = self._counted(clause)
            with caches.lock:
                if caches.words_changes == changes:
                    if len(caches.sizes) == _SIZES:
                        caches.sizes.clear()
                    caches.sizes[clause] = known
        return known

    def _counted(self, clause: Clause) -> Size:
        """Return how common a clause is: 11 ns a posting."""
        low, high = self._terms(clause)
        if low is None:
            match = "SELECT count(*) FROM word_index WHERE word_index MATCH ?"
            rows = int(self.one(match, (phrase(clause),)))
            return Size(rows, _PHRASE * rows)
        self._make_vocabulary()
        sql = "SELECT sum(doc), sum(cnt) FROM temp.held WHERE term >= ? AND term <= ?"
        ((rows, postings),) = self.all(sql, (low, high))
        return Size(rows or 0, postings or 0)

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

    def _make_counting(self) -> None:
        """Make the function that says how often a row holds a phrase; once for each connection."""
        if self._counting_of is not self.raw():
            self.raw().register_fts5_function("occurrences", _occurrences)
            self._counting_of = self.raw()

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

    def _postings(self, clause: Clause, state: State) -> Postings:
        """Return the postings of a clause, of all memories or of those inside."""
        caches, last = state.caches, state.lengths.last
        with caches.lock:
            valid = caches.words_changes == state.changes
            known = caches.kept_postings(clause) if valid else None
        if known is not None and known.last == last:
            return known
        if known is None and state.inside is not None and last > MANY:
            return self._postings_inside(clause, state, state.inside)
        found = self._read_postings(clause, last, known)
        with caches.lock:
            if caches.words_changes == state.changes:
                caches.keep_postings(clause, found, _KEPT)
        return found

    def _read_postings(self, clause: Clause, last: int, before: Postings | None) -> Postings:
        """Return the postings of a clause, where those of the rows before are known."""
        from memai.store import bm25

        low, high = self._terms(clause)
        if before is None and low is not None:
            self._make_vocabulary()
            listed = self.one(
                "SELECT group_concat(doc) FROM temp.occurrences WHERE term >= ? AND term <= ?",
                (low, high),
            )
        else:
            self._make_counting()
            rows = self.all(
                "SELECT rowid, occurrences(word_index) FROM word_index"
                " WHERE word_index MATCH ? AND rowid > ?",
                (phrase(clause), before.last if before is not None else 0),
            )
            listed = ",".join([",".join([str(id)] * count) for id, count in rows])
        return bm25.postings(listed or "", last, before)

    def _postings_inside(self, clause: Clause, state: State, inside: list[int]) -> Postings:
        """Return the postings of a clause in a few memories."""
        import numpy as np

        from memai.store import bm25

        caches, key = state.caches, (clause, state.where)
        with caches.lock:
            valid = caches.words_changes == state.changes
            known = caches.inside.get(key) if valid else None
        if known is not None:
            return known
        word, _ = self._terms(clause)
        single = word is not None and not clause.prefix
        forward = self._forward(state, inside) if single else None
        if forward is not None:
            with caches.lock:
                ids, counts = forward.occurrences(word or "")
            own = np.isin(ids, inside)  # it knows those of other filters too
            held = ids[own], counts[own]
        else:
            held = self._walked(clause, inside)
        if clause.prefix:  # a row may hold several words that begin alike
            count = "SELECT count(*) FROM word_index WHERE word_index MATCH ?"
            rows = int(self.one(count, (phrase(clause),)))
        else:
            rows = self._size(clause).rows
        found = bm25.postings_among(*held, rows)
        with caches.lock:
            if caches.words_changes == state.changes:
                if len(caches.inside) == _INSIDE:
                    caches.inside.clear()
                caches.inside[key] = found
        return found

    def _walked(self, clause: Clause, inside: list[int]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return which of a few memories hold a clause, ascending, and how often each does."""
        import numpy as np

        self._make_counting()
        # With the plus FTS5 does not look each row up by itself, which takes 50 times as long.
        held = self.all(
            "SELECT rowid, occurrences(word_index) FROM word_index WHERE word_index MATCH ?"
            " AND +rowid IN (SELECT value FROM carray(?))",
            (phrase(clause), numbers(inside)),
        )
        ids, counts = np.array(sorted(held), np.int64).reshape(-1, 2).T
        return ids, counts

    def _forward(self, state: State, inside: list[int]) -> Forward | None:
        """Return what words a few memories hold, None if they are too many."""
        from memai.store.forward import Forward

        caches, lengths = state.caches, state.lengths
        if int(lengths.by_id[[id for id in inside if id <= lengths.last]].sum()) > _FEW:
            return None
        with caches.lock:
            if caches.words_changes != state.changes:
                return None
            forward = caches.forward if caches.forward is not None else Forward()
            unknown = forward.unknown(inside)
            if unknown and not caches.walked(state.where, _WALKS):
                return None
            if unknown and len(forward) > _FORWARD:
                forward, unknown = Forward(), inside
            caches.forward = forward
        if unknown:
            words = self._words_of(unknown)
            with caches.lock:
                forward.add(unknown, words)
        return forward

    def _words_of(self, ids: list[int]) -> list[list[str]]:
        """Return the words of some memories as the index has them, as often as they occur."""
        tokenizer = self.raw().fts5_tokenizer(*TOKENIZER)
        source, columns = INDEXED["word_index"]
        texts = {
            id: row
            for id, *row in self.all(
                f"SELECT s.id, {columns} FROM carray(?) c CROSS JOIN {source} s ON s.id = c.value",
                (numbers(ids),),
            )
        }
        return [
            [word for text in texts.get(id, ()) for word in _words(tokenizer, text or "")]
            for id in ids
        ]


def _words(tokenizer: apsw.FTS5Tokenizer, text: str) -> Iterator[str]:
    """Yield the words of a text as a tokenizer gives them."""
    reason = apsw.FTS5_TOKENIZE_DOCUMENT
    found: Any = tokenizer(text.encode(), reason, None, include_offsets=False)
    for words in found:
        yield from words


def _occurrences(row: apsw.FTS5ExtensionApi, *_: object) -> int:
    """Return how often a row holds the phrase."""
    return sum(map(len, row.phrase_locations(0)))
