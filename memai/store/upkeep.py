"""What keeps the SQLite store sound: counting, checking, copying, erasing, changing its space."""

import os
from collections.abc import Iterable
from typing import Any

import apsw

from memai.errors import Damaged
from memai.records import Counts, DomainCount, Embedded, Finding, Memory, Space
from memai.settings import resolve
from memai.store import Progress, filesystem
from memai.store.retrieval import Retrieval
from memai.store.rows import MEMORY, memory_checksum, memory_of
from memai.when import from_micros

_SPACE = "(SELECT value FROM meta WHERE name = 'space')"


class Upkeep(Retrieval):
    """Everything about the store as a whole."""

    def domains(self) -> list[DomainCount]:
        """Return every domain with its counts, latest activity first."""
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
                from_micros(latest),
                tuple(spellings[key]) if len(spellings[key]) > 1 else (),
            )
            for key, (total, current, latest) in totals.items()
        ]
        return sorted(found, key=lambda d: d.latest_at, reverse=True)

    def counts(self) -> Counts:
        """Count what there is."""

        def by(column: str) -> dict[str, int]:
            rows = self.all(f"SELECT {column}, count(*) FROM memories GROUP BY 1 ORDER BY 2 DESC, 1")
            return {str(value if value is not None else "-"): count for value, count in rows}

        return Counts(
            memories=self._number("SELECT count(*) FROM memories"),
            by_type=by("type"),
            by_status=by("status"),
            by_confidence=by("confidence"),
            by_domain={d.domain or "-": d.memories for d in self.domains()},
            superseded=self._number(
                "SELECT count(DISTINCT to_id) FROM links WHERE type = 'supersedes'"
            ),
            relations=self._number("SELECT count(*) FROM links"),
            edits=self._number("SELECT count(*) FROM edits"),
            passages=self._number("SELECT count(*) FROM passages"),
            without_vectors=self._number(
                "SELECT count(*) FROM memories m WHERE NOT EXISTS(SELECT 1 FROM passages p JOIN"
                f" vectors v ON v.passage_id = p.id AND v.space_id = {_SPACE}"
                " WHERE p.memory_id = m.id)"
            ),
            bytes=_size(self.path),
            wal_bytes=_size(self.path + "-wal"),
        )

    def schema_version(self) -> int:
        """Return the version of the store's schema (0 for none)."""
        return self._number("PRAGMA user_version") if self.exists() else 0

    # --- space --------------------------------------------------------------------------------

    def unembedded(self, space: Space, limit: int) -> list[tuple[int, Memory]]:
        """Return memories that have no vectors in this space, oldest first."""
        rows = self.all(
            f"SELECT {MEMORY} FROM memories m WHERE NOT EXISTS(SELECT 1 FROM passages p"
            " JOIN vectors v ON v.passage_id = p.id JOIN spaces s ON s.id = v.space_id"
            " WHERE p.memory_id = m.id AND (s.model, s.sha256, s.dim, s.recipe) = (?, ?, ?, ?))"
            " ORDER BY m.id LIMIT ?",
            (*space, limit),
        )
        return [(row[0], memory_of(row)) for row in rows]

    def put_vectors(self, space: Space, memories: Iterable[tuple[int, Memory, Embedded]]) -> int:
        """Add the vectors of memories that are still at that version; return how many."""
        done = 0
        space_id = self._space_id(space)
        old_id = self.one(f"SELECT {_SPACE}")
        for id, memory, embedded in memories:
            version = self.one("SELECT version FROM memories WHERE id = ?", (id,))
            if version != memory.version:
                continue  # edited or purged meanwhile: its writer embedded it, or nobody needs to
            known = self.all(
                'SELECT "start", "end", id FROM passages WHERE memory_id = ?', (id,)
            )
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

    # --- checking -----------------------------------------------------------------------------

    def check(self, *, deep: bool, progress: Progress | None = None) -> list[Finding]:
        """Look for damage; `deep` reads every byte."""
        if not self.exists():
            return []
        found: list[Finding] = []
        pragma = "integrity_check" if deep else "quick_check"
        for row in self.all(f"PRAGMA {pragma}(5)"):
            if row[0] != "ok":
                found.append(_damage("structure", f"The file is damaged: {row[0]}."))
        if self.all("PRAGMA foreign_key_check"):
            found.append(_damage("references", "Rows refer to memories that are gone."))
        found += self._check_words()
        found += self._check_vectors()
        if deep:
            found += self._check_rows(progress)
        return found

    def _check_words(self) -> list[Finding]:
        """Compare the word indexes with the rows they were made from."""
        found = []
        memories = self._number("SELECT count(*) FROM memories")
        for index in ("word_index", "gram_index"):
            try:
                with self.rehearsing():
                    # rank 1 compares with the content; without it only the index is looked at.
                    self.run(f"INSERT INTO {index}({index}, rank) VALUES('integrity-check', 1)")
                indexed = self._number(f"SELECT count(*) FROM {index}_docsize")
            except (Damaged, apsw.Error):
                found.append(_words(f"The index {index} does not match the memories."))
                continue
            if indexed != memories:
                found.append(_words(f"{index} holds {indexed} of {memories} memories."))
        return found

    def _check_vectors(self) -> list[Finding]:
        """Look at the lengths of the vectors and for memories that have none."""
        found = []
        wrong = self._number(
            "SELECT count(*) FROM vectors v JOIN spaces s ON s.id = v.space_id"
            " WHERE v.embedding IS NOT NULL AND length(v.embedding) <> 4 * s.dim"
        )
        if wrong:
            found.append(_vectors(f"{wrong} vectors have the wrong length."))
        missing = self.counts().without_vectors
        if missing:
            found.append(
                Finding(
                    "problem",
                    "missing-vectors",
                    f"{missing} memories have no vectors: search finds them by words only.",
                    "memai reembed",
                )
            )
        bare = self._number(
            "SELECT count(*) FROM memories m"
            " WHERE NOT EXISTS(SELECT 1 FROM passages p WHERE p.memory_id = m.id)"
        )
        if bare:
            found.append(_vectors(f"{bare} memories have no passages."))
        return found

    def _check_rows(self, progress: Progress | None) -> list[Finding]:
        """Compare every row with its checksum."""
        found = []
        total, done = self._number("SELECT count(*) FROM memories"), 0
        last = 0
        while rows := self.all(
            f"SELECT {MEMORY} FROM memories m WHERE m.id > ? ORDER BY m.id LIMIT 1000", (last,)
        ):
            for row in rows:
                if memory_checksum(memory_of(row)) != row[18]:
                    found.append(_damage("content", f"The memory {row[1]} was altered on disk."))
            last, done = rows[-1][0], done + len(rows)
            if progress is not None:
                progress(done, total)
        return found

    def rebuild(self) -> None:
        """Make the word indexes again from the memories."""
        for index in ("word_index", "gram_index"):
            self.run(f"INSERT INTO {index}({index}) VALUES('rebuild')")

    def erase_traces(self) -> bool:
        """Fold the log into the file and empty it, so that no old page stays in it."""
        rows = self.all("PRAGMA wal_checkpoint(TRUNCATE)")
        erased = not rows or rows[0][0] == 0
        if not erased and self.meta("erase_pending") is None:
            with self.writing():
                self.set_meta("erase_pending", "1")
        elif erased and self.meta("erase_pending") is not None:
            with self.writing():
                self.set_meta("erase_pending", None)
        return erased

    # --- copying ------------------------------------------------------------------------------

    def copy(self, target: str, progress: Progress | None = None) -> int:
        """Write a verified copy of the store to a new file; return its number of memories.

        The copy is made and looked at under another name and then renamed: what has the name of
        a backup is one. Raises Damaged, NoSpace, NotWritable.
        """
        partial = f"{target}.{os.getpid()}.partial"
        with self._translated:
            try:
                filesystem.create_private(partial)
                self.raw().execute("VACUUM INTO ?", (partial,))
                memories = self._verify(partial)
                _sync(partial)
                os.link(partial, target)  # fails where the name is taken: nothing is overwritten
                _sync(os.path.dirname(target))
            finally:
                for name in (partial, partial + "-wal", partial + "-shm"):
                    if os.path.exists(name):
                        os.unlink(name)
        return memories

    def _verify(self, path: str) -> int:
        """Look at a copy as doctor would; return its number of memories."""
        copy = type(self)(resolve(path, {}), self.caller)
        try:
            for finding in copy.check(deep=True):
                if finding.level == "damage":
                    raise Damaged(path=path, reason=finding.message)
            return copy._number("SELECT count(*) FROM memories")
        finally:
            copy.close()

    def _number(self, sql: str) -> int:
        """Return a count."""
        value: Any = self.one(sql)
        return int(value or 0)


def _damage(code: str, message: str) -> Finding:
    return Finding("damage", code, message, "memai recover FILE, from the last good backup")


def _words(message: str) -> Finding:
    return Finding("damage", "words", message, "memai doctor --fix")


def _vectors(message: str) -> Finding:
    return Finding("damage", "vectors", message, "memai doctor --fix")


def _size(path: str) -> int:
    """Return the size of a file in bytes; stat opens nothing."""
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def _sync(path: str) -> None:
    """Wait until a file or folder is on disk; never used on the store itself."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


