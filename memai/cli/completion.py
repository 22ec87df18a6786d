"""What the Tab key offers: uids with their first words, domains, tags, relations.

A completion says nothing but completions: on a locked, missing or damaged store it is empty. It
waits for no lock and makes no file.
"""

import os
import re
import shlex
from collections import Counter
from collections.abc import Iterator

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    add_completion_class,
    shell_complete,
)

from memai import terminal
from memai.cli import style
from memai.cli.choices import Choices
from memai.operations import operation
from memai.records import Memory, Where
from memai.settings import resolve
from memai.store import Store, open_store
from memai.vocabulary import NO_DOMAIN, RELATIONS

MOST = 50  # more than a screen of candidates helps nobody
_DEPTH = 1000  # so many of the newest memories are looked through
_WORDS = 60  # columns of the first words beside a uid
_PLAIN = re.compile(r"[\w@%+=:,./-]+")  # stored text that a shell takes as it stands
_LISTING = (str(ord("?")), str(ord("!")))  # COMP_TYPE of bash where it inserts none of several


def answer(program: click.Command, instruction: str) -> int:
    """Answer a shell's question (see _MEMAI_COMPLETE in Click); return the exit code."""
    add_completion_class(_Bash)
    try:
        return shell_complete(program, {"obj": Choices()}, "memai", "_MEMAI_COMPLETE", instruction)
    except Exception:  # noqa: BLE001 - a Tab must never print an error
        return 1


class _Bash(BashComplete):
    """Bash inserts what it is given as it stands: what it would run or split is quoted."""

    def complete(self) -> str:
        """Write all candidates; where bash only lists them, each with its first words."""
        items = self.get_completions(*self.get_completion_args())
        if len(items) < 2 or os.environ.get("COMP_TYPE") not in _LISTING:
            return "\n".join(self.format_completion(item) for item in items)
        lines = [self.format_completion(item) for item in items]
        room = max(terminal.width(line) for line in lines)
        columns = len("plain,") + int(os.environ.get("COLUMNS") or 80) - 1
        return "\n".join(
            terminal.cut(f"{line}{' ' * (room - terminal.width(line))}  ({item.help})", columns)
            if item.help and item.type == "plain"
            else line
            for line, item in zip(lines, items, strict=True)
        )

    def format_completion(self, item: CompletionItem[str]) -> str:
        """Write one candidate."""
        value = item.value if _PLAIN.fullmatch(item.value) else shlex.quote(item.value)
        return f"{item.type},{value if item.type == 'plain' else item.value}"


def commands(incomplete: str) -> list[CompletionItem[str]]:
    """Offer the commands with their summaries."""
    from memai.cli import manual

    return [
        CompletionItem(name, help=summary)
        for name, summary in manual.summaries()
        if name.startswith(incomplete)
    ]


def offered(what: str | None, context: click.Context, incomplete: str) -> list[CompletionItem[str]]:
    """Offer what a parameter may mean; an error is no completion."""
    if what == "path":
        return [CompletionItem(incomplete, type="file")]
    try:
        if what == "relation":
            return [CompletionItem(word) for word in RELATIONS if word.startswith(incomplete)]
        if what == "command":
            return commands(incomplete) + _topics(incomplete)
        find = {"uid": _uids, "domain": _domains, "tag": _tags}.get(what or "")
        return list(find(context, incomplete))[:MOST] if find is not None else []
    except Exception:  # noqa: BLE001 - a Tab must never print an error
        return []


def _opened(context: click.Context) -> Store:
    """Return the store, for a reader that never waits."""
    choices = context.find_object(Choices) or Choices()
    settings = resolve(choices.db, allow_network_fs=choices.allow_network_fs)
    return open_store(settings=settings._replace(busy_seconds=0.0))


def _uids(context: click.Context, incomplete: str) -> Iterator[CompletionItem[str]]:
    """Yield the newest memories: the hidden ones for restore, all for purge, else the current."""
    store = _opened(context)
    command = context.command.name
    typed = {uid for value in context.params.values() if isinstance(value, tuple) for uid in value}
    everything = command in ("restore", "purge")
    memories = store.page(Where(current=not everything), _DEPTH if incomplete else 4 * MOST)
    for memory in memories:
        if command == "restore" and memory.current:
            continue
        if memory.uid.startswith(incomplete.lower()) and memory.uid not in typed:
            yield CompletionItem(memory.uid, help=_first_words(memory))


def _first_words(memory: Memory) -> str:
    """Return what tells memories apart: type and first words."""
    line = terminal.safe(terminal.one_line(memory.content[:400]), tabs=False)
    kind = "" if memory.type == "note" else f"{memory.type}: "
    return terminal.cut(kind + line, _WORDS)


def _domains(context: click.Context, incomplete: str) -> Iterator[CompletionItem[str]]:
    """Yield the domains, the latest first, and the sign for none."""
    known = operation("domains")
    for domain in known.function(_opened(context)).domains if known else ():
        name = domain.domain or NO_DOMAIN
        if name.lower().startswith(incomplete.lower()):
            yield CompletionItem(name, help=style.counted(domain.memories))


def _tags(context: click.Context, incomplete: str) -> Iterator[CompletionItem[str]]:
    """Yield the tags of the newest memories, the most used first; after a comma the next one."""
    before, comma, begun = incomplete.rpartition(",")
    used = Counter(tag for m in _opened(context).page(Where(), _DEPTH) for tag in m.tags)
    for tag, times in used.most_common():
        if tag.lower().startswith(begun.lower()) and "," not in tag:
            yield CompletionItem(before + comma + tag, help=style.counted(times))


def _topics(incomplete: str) -> list[CompletionItem[str]]:
    """Offer what help explains beside the commands."""
    from memai.cli import manual

    return [
        CompletionItem(name, help=title)
        for name, (title, _) in manual.TOPICS.items()
        if name.startswith(incomplete)
    ]
