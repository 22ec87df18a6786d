"""Looking for damage: in the structure, the words, the vectors, and in what was remembered.

Each class of damage has its own remedy: words, indexes and vectors are made again from the
memories (`memai doctor --fix`), the rest comes back from a backup (`memai recover`).
"""

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial

import apsw

from memai.errors import Damaged, NotWritable
from memai.records import Finding
from memai.store import Progress, schema
from memai.store.columns import COLUMNS, MEMORY, memory_of, row_of
from memai.store.driver import value
from memai.store.overview import CURRENT_SPACE, Overview
from memai.store.sums import checksum, vector_checksum
from memai.store.terms import Terms
from memai.store.ticking import ticking

_BATCH = 1000
_SHOWN = 5

# Tables of small rows with a checksum over all their columns: name, columns, what it holds.
_SMALL = (
    ("passages", 'memory_id, "start", "end"', "passage"),
    ("edits", "memory_id, version, at, agent, reason, before", "earlier version"),
    (
        "relations",
        "from_id, type, to_id, note, agent, created_at, removed_at",
        "relation",
    ),
    ("tombstones", "uid, purged_at, origin_sha256", "tombstone"),
    ("synced", "folder, memory_id, path, size, mtime, sha256, said", "remark on a synced page"),
    ("meta", "name, value", "remark of the store about itself"),
)


class Checks(Overview, Terms):
    """What doctor asks of the store."""

    def check(self, *, deep: bool, progress: Progress | None = None) -> list[Finding]:
        """Look for damage; `deep` reads every byte."""
        if not self.exists():
            return []
        found: list[Finding] = []
        steps: list[Callable[[], list[Finding]]] = [
            partial(self._check_structure, deep=deep),
            self._check_schema,
            self._check_words,
            self._check_vectors,
        ]
        if deep:
            steps += [self._check_terms, self._check_sums]
        for number, step in enumerate(steps):
            try:
                with ticking(self.raw(), progress, number, len(steps) + deep):
                    found += step()
            except (Damaged, apsw.Error) as error:
                found.append(damage("structure", f"A check could not be finished: {error}"))
        if deep:
            found += self._check_memories(progress, len(steps))
        return list(dict.fromkeys(found))

    # --- structure ----------------------------------------------------------------------------

    def _check_structure(self, *, deep: bool) -> list[Finding]:
        """Ask SQLite about pages and indexes."""
        pragma = "integrity_check" if deep else "quick_check"
        try:
            with self.reading():
                self._forget_segments()
                told = [str(row[0]) for row in self.all(f"PRAGMA {pragma}(20)")]
            broken = self.all("PRAGMA foreign_key_check")
        except (Damaged, apsw.Error) as error:
            return [damage("structure", f"The file cannot be read through: {error}")]
        found = [self._classified(line) for row in told for line in row.splitlines()]
        if broken:
            found.append(damage("references", "Rows refer to memories that are gone."))
        return [finding for finding in found if finding is not None]

    def _forget_segments(self) -> None:
        """Make the word indexes look afresh at what others have written.

        A query does, but the pragma (SQLite 3.54.1) compares the index with what this connection
        remembers of its segments, and calls a sound index damaged after another process has
        written.
        """
        for index in schema.WORD_INDEXES:
            with suppress(Damaged, apsw.Error):
                self.all(f"SELECT 1 FROM {index} WHERE {index} MATCH '\"none\"' LIMIT 1")

    def _classified(self, line: str) -> Finding | None:
        """Return what one line of integrity_check means."""
        if line == "ok" or line.startswith("*** in database"):
            return None
        tree = re.match(r"Tree (\d+) ", line)
        names = re.split(r"\W+", line)
        if tree:
            names.append(
                value(self.raw(), "SELECT name FROM sqlite_schema WHERE rootpage = ?", (tree[1],))
            )
        for name in names:
            if name is not None and name.startswith(schema.WORD_INDEXES):
                return words(f"A word index is damaged: {line}.")
            if name in ("vectors", "passages", "passages_memory"):
                return vectors(f"The vectors are damaged: {line}.")
            if name in self._index_names():
                return fixable("index", f"An index is damaged: {line}.")
        if "never used" in line:
            return fixable("space", f"Space in the file is lost: {line}.")
        return damage("structure", f"The file is damaged: {line}.")

    def _index_names(self) -> set[str]:
        return {row[0] for row in self.all("SELECT name FROM sqlite_schema WHERE type = 'index'")}

    def _check_schema(self) -> list[Finding]:
        """Compare the tables with those that this version makes."""
        sql = "SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL"
        present = {(kind, name): made for kind, name, made in self.all(sql)}
        wanted = schema.objects()
        found = []
        for kind, name in sorted(present.keys() - wanted.keys()):
            if not name.startswith("sqlite_"):
                found.append(
                    Finding(
                        "problem",
                        "foreign-object",
                        f"The {kind} {name} is not memai's: another program added it.",
                        f"DROP {kind.upper()} {name}, or take it away with what made it",
                    )
                )
        for (kind, name), made in wanted.items():
            if present.get((kind, name)) != made:
                message = f"The {kind} {name} is missing or altered."
                derived = name.startswith(schema.WORD_INDEXES + schema.WORD_TRIGGERS)
                if derived or kind == "index":
                    found.append(words(message))
                else:
                    found.append(damage("schema", message))
        return found

    # --- words --------------------------------------------------------------------------------

    def _check_words(self) -> list[Finding]:
        """Compare the word indexes with the rows they were made from."""
        found = []
        fresh = schema.in_memory()
        for index in schema.WORD_INDEXES:
            try:
                settings = schema.word_settings(self.raw(), index)
                if settings != schema.word_settings(fresh, index):
                    found.append(words(f"The settings of {index} were altered."))
                with self.rehearsing():
                    # rank 1 compares with the content; without it only the index is looked at.
                    self.run(f"INSERT INTO {index}({index}, rank) VALUES('integrity-check', 1)")
                    memories = self.number("SELECT count(*) FROM memories")
                    indexed = self.number(f"SELECT count(*) FROM {index}_docsize")
            except NotWritable:
                message = f"{index} was not compared with the memories: the store is read-only."
                found.append(Finding("advice", "read-only", message))
                continue
            except (Damaged, apsw.Error, ValueError):
                found.append(words(f"The index {index} does not match the memories."))
                continue
            if indexed != memories:
                found.append(words(f"{index} holds {indexed} of {memories} memories."))
        fresh.close()
        return found

    def _check_terms(self) -> list[Finding]:
        """Compare the terms of the word indexes with those of the memories."""
        found = []
        for index in schema.WORD_INDEXES:
            try:
                wrong = self.differing_terms(index)
            except (Damaged, apsw.Error):
                found.append(words(f"The index {index} does not match the memories."))
                continue
            if wrong:
                found.append(words(f"Terms of {index} do not match the memories: {wrong}."))
        return found

    # --- vectors ------------------------------------------------------------------------------

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

    # --- what was remembered ------------------------------------------------------------------

    def _check_sums(self) -> list[Finding]:
        """Compare every row beside the memories with its checksum."""
        found = [vectors(fault) for fault in _few(self._vector_faults())]
        for table, columns, what in _SMALL:
            altered = self._altered(table, columns)
            if altered and table == "passages":
                found.append(vectors(f"{altered} passages were altered on disk."))
            elif altered:
                found.append(damage("content", f"{altered} times a {what} was altered on disk."))
        for table, last, highest in self.all(
            "SELECT name, seq, CASE name WHEN 'memories' THEN (SELECT max(id) FROM memories)"
            " WHEN 'passages' THEN (SELECT max(id) FROM passages)"
            " ELSE (SELECT max(id) FROM edits) END FROM sqlite_sequence"
        ):
            if highest is not None and last < highest:
                found.append(damage("content", f"The counter of {table} went back."))
        return found

    def _altered(self, table: str, columns: str) -> int:
        """Count the rows of a table that do not have their checksum."""
        wrong = 0
        with self._translated:
            for row in self.raw().execute(f"SELECT {columns}, crc FROM {table}"):
                if row[-1] is None and table == "meta":
                    continue  # a counter
                wrong += checksum(row[:-1]) != row[-1]
        return wrong

    def _check_memories(self, progress: Progress | None, before: int) -> list[Finding]:
        """Compare every memory with its checksum, and what was made from it with itself.

        This is the last step, after as many as were `before`.
        """
        found: list[Finding] = []
        try:
            total, done, last = self.number("SELECT count(*) FROM memories"), 0, 0
            while ids := self.all(
                "SELECT id FROM memories WHERE id > ? ORDER BY id LIMIT ?", (last, _BATCH)
            ):
                for (id,) in ids:
                    found += self._check_memory(id)
                last, done = ids[-1][0], done + len(ids)
                if progress is not None:
                    progress(before * total + done, (before + 1) * total)
        except (Damaged, apsw.Error) as error:
            found.append(damage("content", f"The memories cannot be read through: {error}"))
        return found

    def _check_memory(self, id: int) -> list[Finding]:
        """Look at one memory."""
        try:
            row = self.all(f"SELECT {MEMORY} FROM memories m WHERE m.id = ?", (id,))[0]
            kept = self.all(f"SELECT {', '.join(COLUMNS)} FROM memories WHERE id = ?", (id,))[0]
            made = row_of(memory_of(row))
        except (Damaged, ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            return [damage("content", f"The memory in row {id} cannot be read.")]
        if kept == made:
            return []
        differing = {name for name, a, b in zip(COLUMNS, kept, made, strict=True) if a != b}
        if "crc" in differing:
            return [damage("content", f"The memory {row[1]} was altered on disk.")]
        # Every field has its checksum, so what was made from them is what is wrong.
        return [words(f"What was made from the memory {row[1]} does not fit it.")]


def damage(code: str, message: str) -> Finding:
    """Return a finding that only a backup can heal."""
    return Finding("damage", code, message, "memai recover FILE, from the last good backup")


def fixable(code: str, message: str) -> Finding:
    """Return a finding about what can be made again from the memories."""
    return Finding("damage", code, message, "memai doctor --fix")


def words(message: str) -> Finding:
    """Return a finding about the word indexes."""
    return fixable("words", message)


def vectors(message: str) -> Finding:
    """Return a finding about passages and vectors."""
    return fixable("vectors", message)


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
