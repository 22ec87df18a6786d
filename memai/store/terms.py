"""Term by term: whether the word indexes hold what the memories say."""

from __future__ import annotations

from collections import Counter

import apsw

from memai.lean import TYPE_CHECKING
from memai.store import schema
from memai.store.transactions import Transactions

if TYPE_CHECKING:
    from collections.abc import Iterator

# Memories that are indexed anew at a time, in memory: 2 MB.
_BATCH = 2000
_ROW = 1 << 32  # what a row counts beside its occurrences, in one number for both


class Terms(Transactions):
    """What doctor asks of the terms of the word indexes."""

    def differing_terms(self, index: str) -> int:
        """Return how many terms a word index has in more or fewer places than the memories have.

        FTS5's own check joins the checksums of all entries by exclusive or, where the same change
        to two entries may cancel: of 2,000 bits flipped in an index it missed one that mattered.
        """
        fresh = schema.in_memory()
        source, columns = schema.INDEXED[index]
        places = ", ".join("?" * (1 + len(columns.split(","))))
        counted: Counter[bytes] = Counter()
        last = 0
        with self.reading():
            while rows := self.all(
                f"SELECT id, {columns} FROM {source} WHERE id > ? ORDER BY id LIMIT ?",
                (last, _BATCH),
            ):
                fresh.execute("BEGIN")
                fresh.executemany(f"INSERT INTO {index}(rowid, {columns}) VALUES({places})", rows)
                fresh.execute("COMMIT")
                counted.update(dict(_terms(fresh, index)))
                fresh.execute(f"INSERT INTO {index}({index}) VALUES('delete-all')")
                last = rows[-1][0]
            counted.subtract(dict(_terms(self.raw(), index)))
        fresh.close()
        return sum(number != 0 for number in counted.values())


def _terms(connection: apsw.Connection, index: str) -> Iterator[tuple[bytes, int]]:
    """Yield each term of an index with how many rows and places hold it."""
    table = f"temp.terms_of_{index}"
    made = f"CREATE VIRTUAL TABLE IF NOT EXISTS {table} USING fts5vocab('main', '{index}', 'row')"
    connection.execute(made).fetchall()
    # Bytes, as what a flipped bit has left may be no UTF-8.
    sql = f"SELECT CAST(term AS BLOB), doc, cnt FROM {table}"
    for term, rows, places in connection.execute(sql):
        yield term, rows * _ROW + (places or 0)
