"""Looking for damage in the vectors: all of it can be made again from the memories."""

from collections.abc import Iterator

from memai.records import Finding
from memai.store.columns import CURRENT_SPACE
from memai.store.findings import fixable, vectors
from memai.store.overview import Overview
from memai.store.packing import Packing
from memai.store.sums import vector_checksum

_BATCH = 1000
_SHOWN = 5


class VectorChecks(Overview, Packing):
    """What doctor asks of the vectors."""

    def _check_vectors(self) -> list[Finding]:
        """Look at the lengths of the vectors and for memories that have none."""
        found = []
        wrong = self.number(
            "SELECT count(*) FROM vectors v LEFT JOIN spaces s ON s.id = v.space_id"
            " WHERE s.id IS NULL"
            " OR v.embedding IS NOT NULL AND length(v.embedding) <> 4 * s.dim"
        )
        if wrong:
            found.append(vectors(f"{wrong} vectors have the wrong length."))
        missing = self.without_vectors()
        if missing:
            found.append(
                Finding(
                    "problem",
                    "missing-vectors",
                    f"{missing} memories have no vectors: search finds them by words only.",
                    "memai reembed",
                )
            )
        partly = self.number(
            f"SELECT count(DISTINCT p.memory_id) FROM passages p JOIN passages q"
            f" ON q.memory_id = p.memory_id JOIN vectors v ON v.passage_id = q.id"
            f" AND v.space_id = {CURRENT_SPACE} WHERE NOT EXISTS(SELECT 1 FROM vectors w"
            " WHERE w.passage_id = p.id)"
        )
        if partly:
            found.append(vectors(f"{partly} memories lack the vectors of some passages."))
        bare = self.number(
            "SELECT count(*) FROM memories m"
            " WHERE NOT EXISTS(SELECT 1 FROM passages p WHERE p.memory_id = m.id)"
        )
        if bare:
            found.append(vectors(f"{bare} memories have no passages."))
        return found

    def _check_packed(self) -> list[Finding]:
        """Compare what is packed with the vectors."""
        wrong = self.differing_blocks()
        return [fixable("packed", f"Packed vectors are wrong in {wrong} blocks.")] if wrong else []

    def _check_vector_sums(self) -> list[Finding]:
        """Compare every vector with its checksum, and its length with 1."""
        return [vectors(fault) for fault in _few(self._vector_faults())]

    def _vector_faults(self) -> Iterator[str]:
        """Yield what is wrong with each vector, from its bytes."""
        import numpy as np

        last = (0, 0)
        while batch := self.all(
            "SELECT v.passage_id, v.space_id, v.embedding, v.tokens, v.crc, s.dim FROM vectors v"
            " JOIN spaces s ON s.id = v.space_id WHERE (v.passage_id, v.space_id) > (?, ?)"
            " ORDER BY v.passage_id, v.space_id LIMIT ?",
            (*last, _BATCH),
        ):
            for passage_id, space_id, embedding, tokens, crc, _ in batch:
                # A flipped bit may have made a number or a text of it.
                kinds = isinstance(embedding, bytes | None) and isinstance(tokens, bytes)
                if not kinds or vector_checksum(passage_id, space_id, embedding, tokens) != crc:
                    yield f"The vector of passage {passage_id} was altered on disk."
            sound = [r for r in batch if isinstance(r[2], bytes) and len(r[2]) == 4 * r[5]]
            for dim in {row[5] for row in sound}:
                own = [row for row in sound if row[5] == dim]
                matrix = np.frombuffer(b"".join(row[2] for row in own), dtype="<f4")
                with np.errstate(all="ignore"):
                    lengths = np.linalg.norm(matrix.reshape(-1, dim), axis=1)
                for row, length in zip(own, lengths.tolist(), strict=True):
                    if not abs(length - 1) < 1e-3:  # also true of what is no number
                        yield f"The vector of passage {row[0]} has length {length:g}, not 1."
            last = batch[-1][:2]


def _few(messages: Iterator[str]) -> list[str]:
    """Return the first few messages, and how many there are besides."""
    shown: list[str] = []
    more = 0
    for message in messages:
        if len(shown) < _SHOWN:
            shown.append(message)
        else:
            more += 1
    return shown + ([f"And {more} more vectors are wrong."] if more else [])
