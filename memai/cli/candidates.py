"""What the Tab key offers: uids with their first words, domains, tags, relations.

A completion says nothing but completions: on a locked, missing or damaged store it is empty. It
waits for no lock and makes no file. Nothing here needs Click: most questions are answered without.
"""

from __future__ import annotations

from itertools import islice

from memai import terminal
from memai.cli.choices import SUMMARIES, Choices
from memai.cli.known import SIGNATURES
from memai.lean import TYPE_CHECKING, NamedTuple
from memai.limits import NO_DOMAIN, RELATIONS
from memai.records import Where
from memai.settings import resolve

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memai.records import Beginning
    from memai.store import Store

MOST = 50  # more than a screen of candidates helps nobody
_DEPTH = 1000  # so many of the newest memories are looked through
_WORDS = 60  # columns of the first words beside a uid


class Candidate(NamedTuple):
    """What may stand on the line, with its meaning; of the kind `file` the shell finds them."""

    value: str
    help: str = ""
    kind: str = "plain"


class Asked(NamedTuple):
    """The line before the word that is completed: its command, what is listed on it already."""

    command: str | None
    typed: frozenset[str]
    choices: Choices


def commands(incomplete: str) -> list[Candidate]:
    """Offer the commands with their summaries."""
    known = {name: summary for name, (summary, *_) in SIGNATURES.items() if " " not in name}
    known |= SUMMARIES
    return [Candidate(*item) for item in known.items() if item[0].startswith(incomplete)]


def offered(what: str | None, asked: Asked, incomplete: str) -> list[Candidate]:
    """Offer what a parameter may mean; an error is no completion."""
    if what == "path":
        return [Candidate(incomplete, kind="file")]
    try:
        if what == "relation":
            return [Candidate(word) for word in RELATIONS if word.startswith(incomplete)]
        if what == "command":
            return commands(incomplete) + _topics(incomplete)
        find = {"uid": _uids, "domain": _domains, "tag": _tags}.get(what or "")
        return list(islice(find(asked, incomplete), MOST)) if find is not None else []
    except Exception:  # noqa: BLE001 - a Tab must never print an error
        return []


def _opened(asked: Asked) -> Store:
    """Return the store, for a reader that never waits."""
    from memai.store import open_store

    choices = asked.choices
    settings = resolve(choices.db, allow_network_fs=choices.allow_network_fs)
    return open_store(settings=settings._replace(busy_seconds=0.0))


def _uids(asked: Asked, incomplete: str) -> Iterator[Candidate]:
    """Yield the newest memories: the hidden ones for restore, all for purge, else the current."""
    where = Where(current=asked.command not in ("restore", "purge"))
    begins = incomplete.lower()
    for memory in _opened(asked).beginnings(where, begins, _DEPTH if begins else 4 * MOST):
        hidden = asked.command != "restore" or not memory.current
        if hidden and memory.uid not in asked.typed:
            yield Candidate(memory.uid, _first_words(memory))


def _first_words(memory: Beginning) -> str:
    """Return what tells memories apart: type and first words."""
    line = terminal.safe(terminal.one_line(memory.text), tabs=False)
    kind = "" if memory.type == "note" else f"{memory.type}: "
    return terminal.cut(kind + line, _WORDS)


def _domains(asked: Asked, incomplete: str) -> Iterator[Candidate]:
    """Yield the domains, the latest first, and the sign for none."""
    for domain in _opened(asked).domains():
        name = domain.domain or NO_DOMAIN
        if name.lower().startswith(incomplete.lower()):
            yield Candidate(name, _counted(domain.memories))


def _tags(asked: Asked, incomplete: str) -> Iterator[Candidate]:
    """Yield the tags of the newest memories, the most used first; after a comma the next one."""
    from collections import Counter

    before, comma, begun = incomplete.rpartition(",")
    used = Counter(tag for m in _opened(asked).page(Where(), _DEPTH) for tag in m.tags)
    for tag, times in used.most_common():
        if tag.lower().startswith(begun.lower()) and "," not in tag:
            yield Candidate(before + comma + tag, _counted(times))


def _counted(memories: int) -> str:
    """Say how many memories."""
    from memai.cli import style

    return style.counted(memories)


def _topics(incomplete: str) -> list[Candidate]:
    """Offer what help explains beside the commands."""
    from memai.cli import manual

    return [
        Candidate(name, title)
        for name, (title, _) in manual.TOPICS.items()
        if name.startswith(incomplete)
    ]
