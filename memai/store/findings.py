"""What doctor finds in a store, by how it can be healed."""

from memai.records import Finding


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
