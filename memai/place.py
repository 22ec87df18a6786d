"""Which domain is at hand in a folder: what a `.memai` file says, or the git repository around.

The repository's domain is the name of its main work tree: every linked work tree shares it, and
the remotes play no part, so that changing one orphans nothing. `git config memai.domain NAME`
gives another. Nothing is executed: git's own files are read.
"""

from __future__ import annotations

import os

from memai.errors import UsageError
from memai.lean import NamedTuple

FILE = ".memai"
_LARGEST = 4096  # bytes of a .memai file that is read; it holds one line


class AtHand(NamedTuple):
    """A domain, and a clause that says where it comes from."""

    domain: str
    why: str


def at_hand(folder: str) -> AtHand | None:
    """Return the domain of a folder, or None outside of any.

    Raises UsageError for a .memai file that names none: a scope that cannot be meant is no scope.
    """
    here = os.path.abspath(folder)
    while True:
        found = _from_file(os.path.join(here, FILE)) or _from_git(os.path.join(here, ".git"))
        if found is not None:
            return found
        above = os.path.dirname(here)
        if above == here:
            return None
        here = above


def _from_file(path: str) -> AtHand | None:
    """Return what a .memai file says: its first line that is no comment."""
    if not os.path.isfile(path):  # ~/.memai is the folder of the store
        return None
    try:
        with open(path, encoding="utf-8") as file:
            lines = [line.strip() for line in file.read(_LARGEST).splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8"
        raise UsageError(reason=f"{path} cannot be read: {reason}.") from None
    named = [line for line in lines if line and not line.startswith("#")]
    if len(named) != 1:
        raise UsageError(
            reason=f"{path} must hold one line, the domain; it holds {len(named)}. "
            "Write one, or '-' for none."
        )
    return AtHand(named[0].removeprefix("domain:").strip() or "-", f"the file {path}")


def _from_git(path: str) -> AtHand | None:
    """Return the domain of the repository whose .git this is."""
    if not os.path.lexists(path):
        return None
    common = path
    if os.path.isfile(path):  # a linked work tree or a submodule: "gitdir: FOLDER"
        pointed = _line(path).removeprefix("gitdir:").strip()
        if not pointed:
            return None
        common = os.path.normpath(os.path.join(os.path.dirname(path), pointed))
        shared = _line(os.path.join(common, "commondir"))
        if shared:
            common = os.path.normpath(os.path.join(common, shared))
    configured = _configured(os.path.join(common, "config"))
    if configured:
        return AtHand(configured, f"memai.domain in {os.path.join(common, 'config')}")
    name = os.path.basename(common)
    if name == ".git":
        name = os.path.basename(os.path.dirname(common))
    name = name.removesuffix(".git")
    return AtHand(name, f"the git repository {common}") if name else None


def _configured(path: str) -> str | None:
    """Return `memai.domain` from a git configuration file."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = file.read().splitlines()
    except OSError:
        return None
    section = ""
    for line in (raw.strip() for raw in lines):
        if line.startswith("["):
            section = line.strip("[]").strip().lower()
        elif section == "memai":
            name, _, value = line.partition("=")
            if name.strip().lower() == "domain":
                return value.strip().strip('"') or None
    return None


def _line(path: str) -> str:
    """Return the first line of a small file, '' where there is none."""
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.readline(_LARGEST).strip()
    except OSError:
        return ""
