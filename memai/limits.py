"""How much may be kept and answered, and the few words of memai that code has to know."""

from __future__ import annotations

# Relations that memai itself understands; any other word is a relation too.
SUPERSEDES = "supersedes"
RELATIONS = (SUPERSEDES, "relates_to", "contradicts", "derived_from")

# How "no domain at all" is written where a domain is expected.
NO_DOMAIN = "-"

MAX_CONTENT_BYTES = 1_000_000
MAX_TAGS = 64
MAX_TAG_CHARACTERS = 64
MAX_NAME_CHARACTERS = 200  # domain, session, source, key, relation, reason: a line, not a text
MAX_REASON_CHARACTERS = 2_000
MAX_LIMIT = 1_000
ANSWER_BYTES = 20_000  # about 5,000 tokens: the largest answer an agent gets unasked
UNBOUNDED = 1 << 40  # bytes: more than any answer has
