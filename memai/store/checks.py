"""Looking for damage: in the structure, the words, and in what was remembered; see `vector_checks`.

Each class of damage has its own remedy: words, indexes and vectors are made again from the
memories (`memai doctor --fix`), the rest comes back from a backup (`memai recover`).
"""

import re
from collections.abc import Callable
from contextlib import suppress
from functools import partial

import apsw

from memai.errors import Damaged, NotWritable
from memai.records import Finding
from memai.store import Progress, schema
from memai.store.columns import COLUMNS, MEMORY, memory_of, row_of
from memai.store.driver import value
from memai.store.findings import damage, fixable, vectors, words
from memai.store.sums import checksum
from memai.store.terms import Terms
from memai.store.ticking import ticking
from memai.store.vector_checks import VectorChecks

_BATCH = 1000

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


class Checks(VectorChecks, Terms):
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
            steps += [self._check_terms, self._check_sums, self._check_packed]
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
            if name in ("vectors", "passages", "passages_memory", "packed"):
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
                derived = name.startswith(schema.DERIVED_TABLES + schema.DERIVED_TRIGGERS)
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

    # --- what was remembered ------------------------------------------------------------------

    def _check_sums(self) -> list[Finding]:
        """Compare every row beside the memories with its checksum."""
        found = self._check_vector_sums()
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
