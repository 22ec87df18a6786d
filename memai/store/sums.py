"""Checksums of rows: what finds a flipped bit wherever a command would return it."""

from __future__ import annotations

from binascii import crc32

from memai.lean import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


def checksum(values: Sequence[Any]) -> int:
    """Return the CRC-32 of values; it finds every change of a single bit."""
    return crc32(repr(tuple(values)).encode())


def vector_checksum(passage_id: int, space_id: int, embedding: bytes | None, tokens: bytes) -> int:
    """Return the checksum of a row of vectors."""
    head = f"{passage_id},{space_id},{'-' if embedding is None else len(embedding)};".encode()
    return crc32(tokens, crc32(embedding or b"", crc32(head)))
