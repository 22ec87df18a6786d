"""The schema of the SQLite store, as numbered steps.

A new file is made by running every step, so there is no second copy of the schema to drift. A step
and the `user_version` that records it are one transaction; see `connection.py`. Times are
microseconds since 1970 in UTC; `crc` is CRC-32 over the fields of its row, so that doctor finds a
flipped bit wherever a command would return it.
"""

from __future__ import annotations

from memai.errors import Damaged, ForeignFile, NewerStore
from memai.lean import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    import apsw

APPLICATION_ID = 0x6D656D61  # "mema"

_TABLES = """
CREATE TABLE memories(
  id INTEGER PRIMARY KEY AUTOINCREMENT,  -- never used again: caches of servers are keyed by it
  uid TEXT NOT NULL UNIQUE,
  type TEXT NOT NULL,
  domain TEXT,
  domain_key TEXT,  -- folded, for comparing
  session TEXT,
  tags TEXT NOT NULL,  -- JSON array, in the order given
  tag_keys TEXT NOT NULL,  -- folded, each between two unit separators, for filters
  status TEXT NOT NULL,
  confidence TEXT NOT NULL,
  content TEXT NOT NULL,
  content_hash INTEGER NOT NULL,  -- the first 8 bytes of the SHA-256: finds the same text again
  agent TEXT NOT NULL,
  source TEXT,
  key TEXT,
  origin_system TEXT,
  origin_key TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  version INTEGER NOT NULL,
  extra TEXT NOT NULL,  -- JSON object
  crc INTEGER NOT NULL,
  words TEXT,  -- the content, tags and domain in normalised form, as indexed; null: as the content
  tag_words TEXT NOT NULL,
  domain_words TEXT NOT NULL
) STRICT;
-- What the word index is made of. Words that FTS5 finds in the content itself, as in ASCII prose,
-- are not kept a second time: of 2,900 bytes that a memory takes they were 300.
CREATE VIEW indexed AS
  SELECT id, coalesce(words, content) AS words, tag_words, domain_words FROM memories;
-- These two hold what filters ask, so that only what passes is read from its row: of 100,000
-- memories counting those of a type takes 4 ms instead of 22, and in a seventh of them 1 of 18.
CREATE INDEX memories_created ON memories(created_at, id, type, status, domain_key, tag_keys);
CREATE INDEX memories_domain ON memories(domain_key, created_at, type, status)
  WHERE domain_key IS NOT NULL;
CREATE INDEX memories_session ON memories(session, created_at) WHERE session IS NOT NULL;
CREATE INDEX memories_content ON memories(content_hash);
CREATE UNIQUE INDEX memories_key ON memories(key) WHERE key IS NOT NULL;
CREATE UNIQUE INDEX memories_origin ON memories(origin_system, origin_key)
  WHERE origin_system IS NOT NULL;

CREATE TABLE spaces(
  id INTEGER PRIMARY KEY,
  model TEXT NOT NULL,
  sha256 TEXT NOT NULL,
  dim INTEGER NOT NULL,
  recipe TEXT NOT NULL,
  UNIQUE(model, sha256, dim, recipe)
) STRICT;

CREATE TABLE passages(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  memory_id INTEGER NOT NULL REFERENCES memories(id) ON DELETE CASCADE,
  "start" INTEGER NOT NULL,
  "end" INTEGER NOT NULL,
  crc INTEGER NOT NULL
) STRICT;
CREATE INDEX passages_memory ON passages(memory_id);

CREATE TABLE vectors(
  passage_id INTEGER NOT NULL REFERENCES passages(id) ON DELETE CASCADE,
  space_id INTEGER NOT NULL REFERENCES spaces(id),
  embedding BLOB CHECK(length(embedding) > 0 AND length(embedding) % 4 = 0),
  tokens BLOB NOT NULL CHECK(length(tokens) % 2 = 0),  -- uint16 token ids
  crc INTEGER NOT NULL,
  PRIMARY KEY(passage_id, space_id)
) STRICT;

CREATE TABLE edits(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  memory_id INTEGER NOT NULL REFERENCES memories(id) ON DELETE CASCADE,
  version INTEGER NOT NULL,
  at INTEGER NOT NULL,
  agent TEXT NOT NULL,
  reason TEXT,
  before TEXT NOT NULL,  -- JSON object: the fields as they were
  crc INTEGER NOT NULL
) STRICT;
CREATE INDEX edits_memory ON edits(memory_id, version);

CREATE TABLE relations(
  from_id INTEGER NOT NULL REFERENCES memories(id) ON DELETE CASCADE,
  type TEXT NOT NULL,
  to_id INTEGER NOT NULL REFERENCES memories(id) ON DELETE CASCADE,
  note TEXT,
  agent TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  removed_at INTEGER,  -- a relation taken away is remembered, so that merging does not revive it
  crc INTEGER NOT NULL,
  PRIMARY KEY(from_id, type, to_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX relations_to ON relations(to_id, type) WHERE removed_at IS NULL;
CREATE VIEW links AS SELECT * FROM relations WHERE removed_at IS NULL;

CREATE TABLE tombstones(
  uid TEXT PRIMARY KEY,
  purged_at INTEGER NOT NULL,
  origin_sha256 BLOB,  -- of system and key: what was purged here is known again, not kept
  crc INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What the pages of a folder said when they were last synced.
CREATE TABLE synced(
  folder TEXT NOT NULL,
  memory_id INTEGER NOT NULL REFERENCES memories(id) ON DELETE CASCADE,
  path TEXT NOT NULL,  -- below the folder; empty for a page that was deleted
  size INTEGER NOT NULL,
  mtime INTEGER NOT NULL,  -- nanoseconds since 1970; 0 where it cannot be trusted
  sha256 BLOB NOT NULL,
  said TEXT NOT NULL,  -- JSON object: the fields and relations, of the content its SHA-256
  crc INTEGER NOT NULL,
  PRIMARY KEY(folder, memory_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX synced_memory ON synced(memory_id);

CREATE TABLE meta(
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL,
  crc INTEGER  -- none for counters
) STRICT, WITHOUT ROWID;
"""

# What is made from the memories, and can be made again.
_WORDS = """
CREATE VIRTUAL TABLE word_index USING fts5(
  words, tag_words, domain_words,
  content='indexed', content_rowid='id', tokenize='porter unicode61 remove_diacritics 2'
);
CREATE VIRTUAL TABLE gram_index USING fts5(
  content,
  content='memories', content_rowid='id', tokenize='trigram remove_diacritics 1', detail=none
);
-- Without it a purged word stays in the segments of the index.
INSERT INTO word_index(word_index, rank) VALUES('secure-delete', 1);
INSERT INTO gram_index(gram_index, rank) VALUES('secure-delete', 1);
-- FTS5 merges the segments that commits leave by fours, again and again as they grow. By eights it
-- writes less: of 70 microseconds that SQLite takes for each of 100,000 memories 7, of more more. A
-- million lie in 20 segments then, not 12. From 16 on whoever commits would merge all at once.
INSERT INTO word_index(word_index, rank) VALUES('automerge', 8);
INSERT INTO gram_index(gram_index, rank) VALUES('automerge', 8);

CREATE TRIGGER memories_insert AFTER INSERT ON memories BEGIN
  INSERT INTO word_index(rowid, words, tag_words, domain_words)
    VALUES(new.id, coalesce(new.words, new.content), new.tag_words, new.domain_words);
  INSERT INTO gram_index(rowid, content) VALUES(new.id, new.content);
END;
CREATE TRIGGER memories_delete AFTER DELETE ON memories BEGIN
  INSERT INTO word_index(word_index, rowid, words, tag_words, domain_words)
    VALUES(
      'delete', old.id, coalesce(old.words, old.content), old.tag_words, old.domain_words
    );
  INSERT INTO gram_index(gram_index, rowid, content) VALUES('delete', old.id, old.content);
END;
CREATE TRIGGER memories_update_words
AFTER UPDATE OF content, words, tag_words, domain_words ON memories
WHEN (coalesce(old.words, old.content), old.tag_words, old.domain_words) IS NOT
     (coalesce(new.words, new.content), new.tag_words, new.domain_words) BEGIN
  INSERT INTO word_index(word_index, rowid, words, tag_words, domain_words)
    VALUES(
      'delete', old.id, coalesce(old.words, old.content), old.tag_words, old.domain_words
    );
  INSERT INTO word_index(rowid, words, tag_words, domain_words)
    VALUES(new.id, coalesce(new.words, new.content), new.tag_words, new.domain_words);
END;
CREATE TRIGGER memories_update_grams AFTER UPDATE OF content ON memories
WHEN old.content IS NOT new.content BEGIN
  INSERT INTO gram_index(gram_index, rowid, content) VALUES('delete', old.id, old.content);
  INSERT INTO gram_index(rowid, content) VALUES(new.id, new.content);
END;
"""

# The same of vectors: see `packed`. A block is 1,024 passages, by id.
PACKED = """
CREATE TABLE packed(
  space_id INTEGER NOT NULL REFERENCES spaces(id) ON DELETE CASCADE,
  block INTEGER NOT NULL,
  rows BLOB NOT NULL,  -- those of passages that have no vector are zero
  PRIMARY KEY(space_id, block)
) STRICT;
CREATE TRIGGER packed_insert AFTER INSERT ON vectors BEGIN
  DELETE FROM packed WHERE space_id = new.space_id AND block = new.passage_id / 1024;
END;
-- What is purged must not stay here, nor what an edit left behind, which a purge does not see.
CREATE TRIGGER packed_delete AFTER DELETE ON vectors BEGIN
  UPDATE packed SET rows = CAST(
    substr(rows, 1, old.passage_id % 1024 * (length(rows) / 1024))
    || zeroblob(length(rows) / 1024)
    || substr(rows, (old.passage_id % 1024 + 1) * (length(rows) / 1024) + 1) AS BLOB)
  WHERE space_id = old.space_id AND block = old.passage_id / 1024;
END;
"""

DERIVED = _WORDS + PACKED
"""How the current schema makes what can be made again."""

_STEP_1 = _TABLES + DERIVED

# Each step brings a file from its index to the next version of the schema.
STEPS: tuple[str, ...] = (_STEP_1,)
VERSION = len(STEPS)

INDEXED = {
    "word_index": ("indexed", "words, tag_words, domain_words"),
    "gram_index": ("memories", "content"),
}
"""What each word index is made of: a table or view, and its columns."""
WORD_INDEXES = tuple(INDEXED)
DERIVED_TABLES = (*WORD_INDEXES, "packed")
DERIVED_TRIGGERS = (
    "memories_insert", "memories_delete", "memories_update_words", "memories_update_grams",
    "packed_insert", "packed_delete",
)  # fmt: skip


def in_memory() -> apsw.Connection:
    """Return an empty store in memory."""
    import apsw  # the constants above are for everyone

    made = apsw.Connection(":memory:")
    for step in STEPS:
        made.execute(step).fetchall()
    return made


def objects() -> dict[tuple[str, str], str]:
    """Return what the current schema makes: (type, name) to the statement that makes it."""
    fresh = in_memory()
    sql = "SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL"
    found = {(str(kind), str(name)): str(made) for kind, name, made in fresh.execute(sql)}
    fresh.close()
    return found


def word_settings(connection: apsw.Connection, index: str) -> dict[str, object]:
    """Return the settings of a word index, without the version that FTS5 moves on by itself."""
    found = {str(k): v for k, v in connection.execute(f"SELECT k, v FROM {index}_config")}
    found.pop("version", None)
    return found


def version_of(connection: apsw.Connection, path: str) -> int:
    """Return the version of the schema, 0 for an empty file.

    Raises ForeignFile, NewerStore, Damaged. One statement, so that a schema that another process
    commits meanwhile is seen whole or not at all.
    """
    found: list[Any] = connection.execute(
        "SELECT (SELECT application_id FROM pragma_application_id),"
        " (SELECT user_version FROM pragma_user_version), (SELECT count(*) FROM sqlite_schema)"
    ).fetchall()
    application, version, tables = found[0]
    if application == APPLICATION_ID:
        if version > VERSION:
            raise NewerStore(path=path, found=version, known=VERSION)
        if version < 1 or not tables:
            raise Damaged(path=path, reason="the number of its schema is gone")
        return int(version)
    if application or version or tables:
        raise ForeignFile(path=path, reason="a database of another program")
    return 0
