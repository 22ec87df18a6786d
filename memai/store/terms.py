"""Term by term: whether the word indexes hold what the memories say."""

from __future__ import annotations

from collections import Counter

import apsw

from memai.lean import TYPE_CHECKING
from memai.store import schema
from memai.store.driver import value
from memai.store.transactions import Transactions

if TYPE_CHECKING:
    from collections.abc import Iterator

# Memories that are indexed anew at a time, in memory: 2 MB.
_BATCH = 2000
_ROW = 1 << 32  # what a row counts beside its occurrences, in one number for both

# Added up, where FTS5 uses exclusive or: one flipped bit moves rows or places all the same way.
_SUM = "sum((doc * 8191 + coalesce(offset, 0) * 31 + coalesce(length(col), 0)) & 0xffffffff)"


class Terms(Transactions):
    """What doctor asks of the terms of the word indexes."""

    def differing_terms(self, index: str) -> int:
        """Return how many terms a word index has more or less often than the memories have.

        At least 1 where they are as often, but elsewhere. FTS5's own check joins the checksums of
        all entries by exclusive or, where the same change to two entries may cancel: of 2,000 bits
        flipped in an index it missed one that mattered.
        """
        fresh = schema.in_memory()
        source, columns = schema.INDEXED[index]
        marks = ", ".join("?" * (1 + len(columns.split(","))))
        counted: Counter[bytes] = Counter()
        places, last = 0, 0
        with self.reading():
            while rows := self.all(
                f"SELECT id, {columns} FROM {source} WHERE id > ? ORDER BY id LIMIT ?",
                (last, _BATCH),
            ):
                fresh.execute("BEGIN")
                fresh.executemany(f"INSERT INTO {index}(rowid, {columns}) VALUES({marks})", rows)
                fresh.execute("COMMIT")
                counted.update(dict(_terms(fresh, index)))
                places += _places(fresh, index)
                fresh.execute(f"INSERT INTO {index}({index}) VALUES('delete-all')")
                last = rows[-1][0]
            counted.subtract(dict(_terms(self.raw(), index)))
            places -= _places(self.raw(), index)
        fresh.close()
        return sum(number != 0 for number in counted.values()) or int(places != 0)


def _terms(connection: apsw.Connection, index: str) -> Iterator[tuple[bytes, int]]:
    """Yield each term of an index with how many rows and places hold it."""
    table = _vocabulary(connection, index, "row")
    # Bytes, as what a flipped bit has left may be no UTF-8.
    for term, rows, places in connection.execute(
        f"SELECT CAST(term AS BLOB), doc, cnt FROM {table}"
    ):
        yield term, rows * _ROW + (places or 0)


def _places(connection: apsw.Connection, index: str) -> int:
    """Return a sum over all rows, columns and places in them that an index knows."""
    return (
        value(connection, f"SELECT {_SUM} FROM {_vocabulary(connection, index, 'instance')}") or 0
    )


def _vocabulary(connection: apsw.Connection, index: str, kind: str) -> str:
    """Return the name of the table that shows the terms of an index by row or by instance."""
    table = f"temp.{kind}_of_{index}"
    made = (
        f"CREATE VIRTUAL TABLE IF NOT EXISTS {table} USING fts5vocab('main', '{index}', '{kind}')"
    )
    connection.execute(made).fetchall()
    return table
