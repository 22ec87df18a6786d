"""The routes of search in SQLite, and what order needs to know of candidates.

Every route applies the filter in the same statement that scores, so that what lies outside a
filter never crowds out what is inside.
"""

import json
from collections.abc import Iterator, Sequence

from memai import text
from memai.queries import Clause, WordQuery
from memai.records import Glance, Scored, Where
from memai.store.columns import CURRENT_SPACE, condition
from memai.store.nearest import numbers
from memai.store.spelling import phrase
from memai.store.words import Words

BEGINNING = 82
"""Characters of a memory that a glance shows: what `ranking.head` looks at, and one more."""


class Retrieval(Words):
    """Candidates for search, each route on its own."""

    def by_both(
        self,
        query: WordQuery,
        vector: bytes | None,
        where: Where,
        limit: int,
        excluded: Sequence[Clause] = (),
    ) -> tuple[list[Scored], list[Scored]]:
        """Return what `by_words` and `by_meaning` do; vectors are compared while words are read."""
        if vector is None:
            return self.by_words(query, where, limit, excluded), []
        with self.reading():
            seen = self._seen(vector, where)  # from now on they are compared
            found = self.by_words(query, where, limit, excluded)
            return found, self._nearest(vector, where, limit, seen)

    def by_substring(self, pieces: Sequence[str], where: Where, limit: int) -> list[Scored]:
        """Return memories whose text holds these pieces, scored by the share of pieces held."""
        usable = [piece for piece in dict.fromkeys(pieces) if len(piece) >= 3]
        if not usable:
            return []
        sql, values = condition(where)
        # The trigram index keeps no positions: it gives candidates, the text decides.
        rows = self.all(
            "SELECT m.id, m.content FROM gram_index JOIN memories m ON m.id = gram_index.rowid"
            f" WHERE gram_index MATCH :match AND {sql} ORDER BY m.id DESC LIMIT :limit",
            {**values, "match": " OR ".join(_grams(p) for p in usable), "limit": 20 * limit},
        )
        found = []
        for id, content in rows:
            folded = text.fold(content)
            held = sum(piece in folded for piece in usable)
            if held:
                found.append(Scored(id, held / len(usable)))
        found.sort(key=lambda scored: (-scored.score, scored.id))
        return found[:limit]

    def glances(self, ids: Sequence[int]) -> dict[int, Glance]:
        """Return what ordering needs to know of each of these memories."""
        rows = self.all(
            "SELECT m.id, m.created_at, m.confidence, substr(m.content, 1, :most)"
            " FROM carray(:ids) c CROSS JOIN memories m ON m.id = c.value",
            {"ids": numbers(ids), "most": BEGINNING},
        )
        return {row[0]: Glance._make(row[1:]) for row in rows}

    def neighbours(self, ids: Sequence[int]) -> dict[int, tuple[int | None, int | None]]:
        """Return which active memory of the same session comes right before and after each memory.

        In the order of their times; what has no session is left out.
        """
        # Scalar subqueries: each is a step along the index of sessions.
        sides = [
            "(SELECT n.id FROM memories n WHERE n.session = m.session AND n.status = 'active'"
            f" AND (n.created_at, n.id) {sign} (m.created_at, m.id)"
            f" ORDER BY n.created_at {order}, n.id {order} LIMIT 1)"
            for sign, order in (("<", "DESC"), (">", "ASC"))
        ]
        rows = self.all(
            f"SELECT m.id, {', '.join(sides)} FROM carray(?) c"
            " CROSS JOIN memories m ON m.id = c.value WHERE m.session IS NOT NULL",
            (numbers(ids),),
        )
        return {row[0]: (row[1], row[2]) for row in rows}

    def tokens(self, ids: Sequence[int]) -> dict[int, bytes]:
        """Return the uint16 token ids of each memory that has some, passage after passage."""
        found: dict[int, bytes] = {}
        # The index of passages has them in order; their rows would cost a quarter of the time.
        for id, tokens in self.all(
            "SELECT p.memory_id, v.tokens FROM carray(?) c"
            " CROSS JOIN passages p ON p.memory_id = c.value"
            " CROSS JOIN vectors v ON v.passage_id = p.id"
            f" AND v.space_id = {CURRENT_SPACE}",
            (numbers(ids),),
        ):
            if tokens:
                found[id] = found[id] + tokens if id in found else tokens
        return found

    def matches(self, ids: Sequence[int], clauses: Sequence[Clause]) -> set[int]:
        """Return those of the memories that hold at least one of these clauses."""
        if not ids or not clauses:
            return set()
        rows = self.all(
            "SELECT rowid FROM word_index WHERE word_index MATCH ?"
            " AND rowid IN (SELECT value FROM json_each(?))",
            (" OR ".join(phrase(clause) for clause in clauses), json.dumps(list(ids))),
        )
        return {row[0] for row in rows}

    def vectors(self, where: Where) -> Iterator[tuple[int, bytes]]:
        """Yield (engine id, vector) of the passages of the memories in this filter, by id."""
        sql, values = condition(where)
        memory, passage = 0, 0
        # Page by page: a statement left open would keep the log from being folded in.
        while rows := self.all(
            "SELECT m.id, v.embedding, p.id FROM memories m JOIN passages p ON p.memory_id = m.id"
            " JOIN vectors v ON v.passage_id = p.id"
            " AND v.space_id = (SELECT value FROM meta WHERE name = 'space')"
            f" WHERE v.embedding IS NOT NULL AND {sql}"
            " AND m.id >= :memory AND (m.id > :memory OR p.id > :passage)"
            " ORDER BY m.id, p.id LIMIT 5000",
            {**values, "memory": memory, "passage": passage},
        ):
            yield from ((row[0], row[1]) for row in rows)
            memory, _, passage = rows[-1]

    def contents(self, where: Where) -> Iterator[tuple[int, str, str | None, str]]:
        """Yield (engine id, type, folded domain, content) of what is in this filter, by id."""
        sql, values = condition(where)
        last = 0
        # A hundred at a time: each may be a megabyte.
        while rows := self.all(
            f"SELECT m.id, m.type, m.domain_key, m.content FROM memories m WHERE {sql}"
            " AND m.id > :last ORDER BY m.id LIMIT 100",
            {**values, "last": last},
        ):
            yield from rows
            last = rows[-1][0]


def _grams(piece: str) -> str:
    """Return the trigrams of a piece, all of which must occur (detail=none knows no phrases)."""
    grams = dict.fromkeys(piece[i : i + 3] for i in range(len(piece) - 2))
    return "(" + " AND ".join('"' + gram.replace('"', '""') + '"' for gram in grams) + ")"
