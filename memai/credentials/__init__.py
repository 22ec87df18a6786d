"""Credentials in texts: where they are, of what kind, and the text without them.

Three sorts are found: values with a shape of their own (keys with a maker's prefix, PEM blocks,
JSON Web Tokens), passwords in URLs, and pairs such as `password=...` whose value looks random. A
value counts, never the mention of a word: names of variables, look-ups in the environment,
placeholders, versions, hashes and UUIDs pass. What a person can remember (`hunter2`) is told from
a word only where its place says what it is, as in a URL.

Every search is linear in the length of the text: runs are matched possessively, what precedes a
decision is bounded, and no run is scanned from more than a bounded number of places. Patterns are
compiled on first use, and only if a literal piece of them is in the text.
"""

from __future__ import annotations

from itertools import chain

from memai.credentials import pairs, shapes
from memai.lean import NamedTuple


class Credential(NamedTuple):
    """Where a credential stands in a text: the characters from `start` up to `end`."""

    kind: str
    start: int
    end: int


def find(text: str) -> list[Credential]:
    """Find the credentials in a text, in order and without overlap.

    Where two overlap, the hit covers both and is of the kind that says more: a maker's before a
    common one, a shape before a pair.
    """
    searches = (
        shapes.keys,
        shapes.web_tokens,
        shapes.private_keys,
        shapes.url_passwords,
        pairs.find,
    )
    hits = chain.from_iterable(search(text) for search in searches)
    ranked = ((start, end, rank, kind) for rank, (kind, start, end) in enumerate(hits))
    merged: list[tuple[int, int, int, str]] = []
    for hit in sorted(ranked):
        if merged and hit[0] < merged[-1][1]:
            last = merged.pop()
            merged.append((last[0], max(last[1], hit[1]), *min(last[2:], hit[2:])))
        else:
            merged.append(hit)
    return [Credential(kind, start, end) for start, end, _, kind in merged]


def redact(text: str, found: list[Credential]) -> str:
    """Replace each credential that find() gave for this text by `[redacted:KIND]`."""
    pieces: list[str] = []
    at = 0
    for credential in found:
        pieces += text[at : credential.start], f"[redacted:{credential.kind}]"
        at = credential.end
    return "".join([*pieces, text[at:]])
