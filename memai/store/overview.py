"""What a store holds, counted."""

import os
from typing import Any

import apsw

from memai.errors import Damaged
from memai.records import Counts, DomainCount
from memai.store.columns import CURRENT_SPACE, Legible, instant
from memai.store.rows import Rows


class Overview(Rows):
    """Counts of the store as a whole."""

    def domains(self) -> list[DomainCount]:
        """Return every domain with its counts, latest activity first."""
        with Legible("a domain or time of the memories"):
            return self._domains()

    def _domains(self) -> list[DomainCount]:
        spellings: dict[str | None, dict[str, int]] = {}
        totals: dict[str | None, list[int]] = {}
        for key, domain, total, current, latest in self.all(
            "SELECT m.domain_key, m.domain, count(*), sum(m.status = 'active' AND NOT EXISTS("
            "SELECT 1 FROM links r WHERE r.to_id = m.id AND r.type = 'supersedes')),"
            " max(m.updated_at) FROM memories m GROUP BY m.domain_key, m.domain ORDER BY min(m.id)"
        ):
            spellings.setdefault(key, {})[domain] = total
            sums = totals.setdefault(key, [0, 0, 0])
            sums[0] += total
            sums[1] += current
            sums[2] = max(sums[2], latest)
        found = [
            # The first spelling is the one that is shown.
            DomainCount(
                next(iter(spellings[key])),
                total,
                current,
                instant(latest),
                tuple(spellings[key]) if len(spellings[key]) > 1 else (),
            )
            for key, (total, current, latest) in totals.items()
        ]
        return sorted(found, key=lambda d: d.latest_at, reverse=True)

    def counts(self) -> Counts:
        """Count what there is."""

        def by(column: str) -> dict[str, int]:
            rows = self.all(
                f"SELECT {column}, count(*) FROM memories GROUP BY 1 ORDER BY 2 DESC, 1"
            )
            return {str(value if value is not None else "-"): count for value, count in rows}

        return Counts(
            memories=self.number("SELECT count(*) FROM memories"),
            by_type=by("type"),
            by_status=by("status"),
            by_confidence=by("confidence"),
            by_domain={d.domain or "-": d.memories for d in self.domains()},
            superseded=self.number(
                "SELECT count(DISTINCT to_id) FROM links WHERE type = 'supersedes'"
            ),
            relations=self.number("SELECT count(*) FROM links"),
            edits=self.number("SELECT count(*) FROM edits"),
            passages=self.number("SELECT count(*) FROM passages"),
            indexed=self._indexed(),
            without_vectors=self.without_vectors(),
            bytes=size(self.path),
            wal_bytes=size(os.path.realpath(self.path) + "-wal"),
        )

    def _indexed(self) -> int:
        """Count the memories in the word index, 0 if it cannot be read."""
        try:
            return self.number("SELECT count(*) FROM word_index_docsize")
        except (Damaged, apsw.SQLError):
            return 0

    def without_vectors(self) -> int:
        """Count the memories that have no vectors in the store's space."""
        return self.number(
            "SELECT count(*) FROM memories m WHERE NOT EXISTS(SELECT 1 FROM passages p JOIN"
            f" vectors v ON v.passage_id = p.id AND v.space_id = {CURRENT_SPACE}"
            " WHERE p.memory_id = m.id)"
        )

    def schema_version(self) -> int:
        """Return the version of the store's schema (0 for none)."""
        return self.number("PRAGMA user_version") if self.exists() else 0

    def number(self, sql: str) -> int:
        """Return a count."""
        value: Any = self.one(sql)
        return int(value or 0)


def size(path: str) -> int:
    """Return the size of a file in bytes, 0 for none; stat opens nothing."""
    try:
        return os.stat(path).st_size
    except OSError:
        return 0
