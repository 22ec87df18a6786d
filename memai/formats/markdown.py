"""Other people's Markdown: notes with front matter, memory banks, instructions, decision records.

A note with front matter (as Obsidian, basic-memory and memory-mcp write it) is one memory. Of files
that were written to be read from top to bottom each section is one: it is found by itself, with
the headings above it as title and tags.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from memai.formats import Broken, Incoming, decisions, frontmatter, pages, sections
from memai.formats.foreign import Home, clean_tags, line, made, relation, rest, time
from memai.formats.sections import Section
from memai.records import Relation
from memai.text import fold

SYSTEM = "markdown"

_ABOVE = " \N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK} "

_BANK = {
    "activecontext": "checkpoint",
    "progress": "checkpoint",
    "decisionlog": "reasoning",
    "productcontext": "note",
    "projectbrief": "note",
    "systempatterns": "note",
    "techcontext": "note",
}
_INSTRUCTIONS = frozenset("claude claudelocal agents agent gemini copilotinstructions".split())
_HEADINGS = (
    (
        "anti_pattern",
        r"anti.?patterns?|pitfalls?|gotchas?|lessons?|known issues?|mistakes?|caveats?",
    ),
    ("reasoning", r"decisions?|rationale|trade.?offs?|alternatives?"),
    ("handoff", r"hand.?offs?|hand.?overs?"),
)
_DAY = re.compile(r"\b(\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d(?::\d\d)?))?(?!\d)", re.ASCII)
_RELATION = re.compile(
    r"^[ \t]*[-*][ \t]+([\w ./-]{1,60}?)[ \t]+\[\[([^\]|#]+)[^\]]*\]\]", re.MULTILINE
)
_OBSERVATION = re.compile(r"^[ \t]*[-*][ \t]+\[[^\]\n]{1,40}\][ \t].*$", re.MULTILINE)
_HASHTAG = re.compile(r"(?<![\w#])#([^\W\d_][\w/-]*)")

# What front matter says in the words of several tools, each in the order of preference.
_ID = ("id", "permalink", "uid")
_CREATED = ("created_at", "created", "date", "date_created", "createdAt", "timestamp")
_UPDATED = ("updated_at", "updated", "modified", "last_updated", "date_modified", "updatedAt")
_DOMAIN = ("domain", "project", "scope", "workspace")
_AGENT = ("agent", "author", "created_by")
_TYPE = ("type", "category", "kind")
_TAGS = ("tags", "tag", "keywords")
_STATUS = ("archived", "deleted", "obsolete")
_LINKS = ("relations", "related", "links")


class Document(NamedTuple):
    """One file, taken apart.

    `key` names it wherever it lies; `kind` is note, bank, instructions, decision or plain; `kept`
    are the sections that become memories.
    """

    path: str
    key: str
    kind: str
    title: str
    head: dict[str, Any]
    body: str
    sections: tuple[Section, ...]
    kept: tuple[Section, ...]

    def keys(self) -> list[str]:
        """Return the keys of its memories."""
        if self.kind == "note":
            return [self.key]
        found: dict[str, int] = {}
        keys = []
        for section in self.kept:
            name = " > ".join(section.path)
            found[name] = found.get(name, 0) + 1
            again = f" ({found[name]})" if found[name] > 1 else ""
            keys.append(f"{self.key}#{name}{again}" if name or again else self.key)
        return keys


def document(text: str, path: str, label: str) -> Document:
    """Take a file apart; `label` and `path` name it for all who have it. Raises Broken."""
    told, body = frontmatter.split(text)
    head = frontmatter.loads(told) if told is not None else None
    if not isinstance(head, dict):
        head, body = {}, text
    # A file of headings alone says something all the same.
    cut = tuple(sections.cut(body)) or ((Section((), body.strip()),) if body.strip() else ())
    stem = path.rpartition("/")[2].rpartition(".")[0] or path
    top = next((s.path[0] for s in cut if s.path), None)
    title = line(head.get("title") or head.get("name")) or top or stem
    given = next((str(head[name]) for name in _ID if isinstance(head.get(name), str | int)), None)
    kind = _kind(path, head, cut)
    key = f"{label}/{path}" if label else path
    if kind == "note" and given is not None:
        # A number of 128 bits is the same note anywhere, a word is so among its neighbours.
        key = given if re.fullmatch(r"[0-9a-fA-F-]{32,36}", given) else f"{label}/{given}"
    kept = tuple(s for s in cut if kind != "decision" or not decisions.is_trivial(s))
    return Document(path, key, kind, title, head, body, cut, kept)


def _kind(path: str, head: dict[str, Any], cut: tuple[Section, ...]) -> str:
    """Return what sort of file this is: by its name, and by what its front matter is for."""
    stem = _bare(path.rpartition("/")[2].rpartition(".")[0])
    if decisions.is_one(path, head, cut):
        return "decision"
    if stem in _BANK:
        return "bank"
    if stem in _INSTRUCTIONS:
        return "instructions"
    return "note" if head else "plain"


def _bare(stem: str) -> str:
    """Return the name of a file without numbers in front, separators and case."""
    return re.sub(r"[\W_]+", "", fold(re.sub(r"^\d+[-_. ]*", "", stem)))


def names(doc: Document) -> list[str]:
    """Return by which names other files may speak of a file."""
    stem = doc.path.rpartition("/")[2].rpartition(".")[0]
    given = [doc.head.get(name) for name in ("permalink", "id", "name")]
    words = [doc.title, stem, doc.path, *[str(name) for name in given if isinstance(name, str)]]
    if doc.kind == "decision":
        words += decisions.names(doc.path)
    return [fold(word.strip()) for word in words]


def memories(
    doc: Document,
    home: Home,
    updated: str,
    find: Callable[[str], list[str]],
) -> Iterator[Incoming | Relation]:
    """Yield the memories of a file and their relations.

    `home.at` and `updated` are when the file was first and last written, as far as is known;
    `find` gives the keys of the memories that a name stands for. Raises Broken.
    """
    if doc.kind == "note":
        yield _note(doc, home, updated)
    else:
        yield from _sections(doc, home, updated)
    keys = doc.keys()
    for kind, name in _related(doc):
        for key in [] if not keys else find(fold(name.strip()))[:1]:
            if key != keys[0]:
                yield relation(SYSTEM, keys[0], kind, key, home, SYSTEM)
    if doc.kind == "decision" and keys:
        for older, newer in decisions.superseded(doc.path, doc.head, doc.sections, find, keys):
            yield relation(SYSTEM, newer, "supersedes", older, home, SYSTEM)


def _note(doc: Document, home: Home, updated: str) -> Incoming:
    """Return a whole file as one memory."""
    head, body = doc.head, doc.body.strip("\n")
    known = {*_CREATED, *_UPDATED, *_AGENT, *_TAGS, *_TYPE, "source"}
    known |= {*_DOMAIN} if _domain(head) else set()
    text = body if fold(doc.title) in fold(body[:400]) else f"{doc.title}\n\n{body}"
    hashtags = [tag for seen in _OBSERVATION.findall(body) for tag in _HASHTAG.findall(seen)]
    return made(
        SYSTEM,
        doc.key,
        home,
        doc.path,
        content=text,
        type=str(_first(head, _TYPE) or "note"),
        tags=[*_tags(head), *hashtags],
        domain=_domain(head),
        agent=_first(head, _AGENT),
        source=line(head.get("source")) or f"{SYSTEM}: {doc.path}",
        created=_first(head, _CREATED),
        updated=_first(head, _UPDATED) or updated,
        status="archived" if fold(str(head.get("status"))) in _STATUS else "active",
        extra=rest(head, *known),
    )


def _sections(doc: Document, home: Home, updated: str) -> Iterator[Incoming]:
    """Yield each section of a file as a memory."""
    stem = _bare(doc.path.rpartition("/")[2].rpartition(".")[0])
    usual = {"bank": _BANK.get(stem, "note"), "decision": "reasoning"}.get(doc.kind, "note")
    kind = {"bank": ["memory-bank"], "instructions": ["instructions"]}.get(doc.kind, [])
    if doc.kind == "decision":
        kind = ["adr", *decisions.status(doc.head, doc.sections)]
    about = _first(doc.head, _CREATED)
    for section, key in zip(doc.kept, doc.keys(), strict=True):
        path = section.path if section.path[:1] == (doc.title,) else (doc.title, *section.path)
        day = next((found for name in reversed(path) if (found := _DAY.search(name))), None)
        created = " ".join(filter(None, day.groups())) if day else about
        words = [name for name in path if len(name) <= 40]
        yield made(
            SYSTEM,
            key,
            home,
            doc.path,
            content=_ABOVE.join(path) + "\n\n" + section.text,
            type=_heading_type(section.path[-1:]) or usual,
            tags=clean_tags([*kind, *_tags(doc.head), *words]),
            domain=_domain(doc.head),
            agent=_first(doc.head, _AGENT),
            source=f"{SYSTEM}: {doc.path}",
            created=created,
            updated=None if day and not time(about) else _first(doc.head, _UPDATED) or updated,
        )


def _heading_type(path: tuple[str, ...]) -> str | None:
    """Return the type that a heading speaks of."""
    for title in path:
        for ours, words in _HEADINGS:
            if re.search(rf"\b(?:{words})\b", title, re.IGNORECASE):
                return ours
    return None


def _related(doc: Document) -> Iterator[tuple[str, str]]:
    """Yield the relations that a note states: how, and to which name."""
    if doc.kind != "note":
        return
    for section in doc.sections:
        if section.path and fold(section.path[-1]) in ("relations", "related", "links"):
            yield from _RELATION.findall(section.text)
    for name in _LINKS:
        told = doc.head.get(name)
        for item in told if isinstance(told, list) else [told]:
            if isinstance(item, str) and item.strip():
                yield "relates_to", re.sub(r"^\[\[|(?:[|#].*)?\]\]$", "", item.strip())


def _tags(head: dict[str, Any]) -> list[str]:
    """Return the tags of a front matter."""
    found: list[str] = []
    for name in _TAGS:
        try:
            found += (tag.removeprefix("#") for tag in pages.tags(head.get(name)))
        except Broken:
            continue
    word = _first(head, ("category",)) if head.get("type") else None
    return [*found, *([word] if isinstance(word, str) else [])]


def _domain(head: dict[str, Any]) -> str | None:
    """Return the domain a front matter names in one of the words for it."""
    told = _first(head, _DOMAIN)
    if isinstance(told, dict):  # a scope with a kind and a path
        told = told.get("path") or told.get("name")
    return told if isinstance(told, str) and told.lower() not in ("global", "root", "all") else None


def _first(head: dict[str, Any], known: tuple[str, ...]) -> Any:
    """Return the first of some fields that says anything."""
    return next((head[name] for name in known if head.get(name) not in (None, "", [])), None)


def fresh(text: str, path: str, home: Home) -> Incoming:
    """Return a file that somebody put beside memai's pages as a memory, its text unchanged.

    Its domain is what it names, else the folders it is in. Raises Broken.
    """
    told, body = frontmatter.split(text)
    head = frontmatter.loads(told) if told is not None else None
    if not isinstance(head, dict):
        head, body = {}, text
    folder = path.rpartition("/")[0]
    known = {*_CREATED, *_AGENT, *_TAGS, "type", "source"} | (
        {*_DOMAIN} if _domain(head) else set()
    )
    return made(
        SYSTEM,
        path,
        home,
        path,
        content=body.removesuffix("\n"),
        type=str(head.get("type") or "note"),
        tags=_tags(head),
        domain=_domain(head) or folder or None,
        agent=_first(head, _AGENT),
        source=line(head.get("source")),
        created=_first(head, _CREATED),
        status="archived" if fold(str(head.get("status"))) in _STATUS else "active",
        extra=rest(head, *known),
    )
