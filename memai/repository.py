"""What git knows of a folder: who it is, when its files were written, whether it is published."""

import os
from typing import NamedTuple


class Times(NamedTuple):
    """When a file was first and last committed, in seconds since 1970."""

    first: int
    last: int


def identity(folder: str) -> str | None:
    """Return a name for a folder that all clones of its repository share, None outside of one.

    It is the first commit and the path below the top.
    """
    first = _git(folder, "rev-list", "--max-parents=0", "HEAD")
    prefix = _git(folder, "rev-parse", "--show-prefix")
    if not first or prefix is None:
        return None
    return "/".join([min(first.split())[:12], *prefix.strip().rstrip("/").split("/")]).rstrip("/")


def times(folder: str, ending: str) -> dict[str, Times]:
    """Return the times of the committed files below a folder, by path; empty outside of git."""
    log = _git(
        folder,
        *("log", "--format=%x01%ct", "--name-only", "--no-renames", "--relative", "-z"),
        *("--no-show-signature", "--", f"*{ending}"),
    )
    found: dict[str, Times] = {}
    when = 0
    for part in (log or "").split("\0"):
        word = part.strip("\n")
        if word.startswith("\x01"):
            # A time and, on the next line, the first of its files.
            told, _, word = word[1:].partition("\n")
            when = int(told) if told.isdigit() else when
            word = word.strip("\n")
        if word:
            known = found.get(word)
            found[word] = Times(
                min(known.first, when) if known else when, max(known.last, when) if known else when
            )
    return found


def _git(folder: str, *arguments: str) -> str | None:
    """Ask git, without letting the repository's configuration run programs; None if it fails."""
    import subprocess

    environment = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    settings = ("-c", "core.fsmonitor=false", "-c", "log.showSignature=false")
    try:
        done = subprocess.run(  # noqa: S603 - no shell; the arguments are ours
            ["git", *settings, "--no-pager", *arguments],  # noqa: S607 - the user's git
            cwd=folder,
            env={**environment, "GIT_NO_LAZY_FETCH": "1", "GIT_OPTIONAL_LOCKS": "0"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=120,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.decode(errors="surrogateescape")


def remote_of(folder: str) -> str | None:
    """Return the name of a remote of the git work tree that a folder is in, None if there is none.

    Reads git's own files: starting git would cost more than the export it is asked for.
    """
    folder = os.path.realpath(folder)
    while not os.path.lexists(os.path.join(folder, ".git")):
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above
    place = os.path.join(folder, ".git")
    try:
        if os.path.isfile(place):  # a further work tree, or a module of another repository
            with open(place, encoding="utf-8", errors="replace") as file:
                told = file.read(4096).partition("gitdir:")[2].strip()
            place = os.path.join(folder, told)
            common = os.path.join(place, "commondir")
            if os.path.isfile(common):
                with open(common, encoding="utf-8", errors="replace") as file:
                    place = os.path.join(place, file.read(4096).strip())
        with open(os.path.join(place, "config"), encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.strip().startswith('[remote "'):
                    return line.strip()[9:].partition('"')[0]
    except OSError:
        return None
    return None
