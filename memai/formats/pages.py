"""memai's own Markdown: one page a memory, made for version control, editors and Obsidian.

The front matter says all that a memory is now, its content stands below unchanged. Lists stand one
entry a line, so that a version control system shows what changed and merges what it can.
"""

import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from memai.formats import Broken, Incoming, frontmatter, own
from memai.formats.fields import Fields
from memai.records import Memory, Origin, Relation
from memai.vocabulary import MAX_CONTENT_BYTES

# More than a page can have: content, front matter, and what an editor may add.
MAX_PAGE_BYTES = MAX_CONTENT_BYTES + 2 * frontmatter.MAX_BYTES

_FIELDS = (
    "uid type domain session tags status confidence agent source key origin created_at updated_at"
).split()
_KNOWN = frozenset((*_FIELDS, "relations", "extra"))
# What editors know by these names; anything else that is extra stands below `extra`.
_EDITORS = frozenset("aliases cssclasses cssclass publish permalink title description".split())
# A link to a page: its uid ends the name of the file, or is what the link shows.
_LINK = re.compile(r"\[\[[^\]]*?\b([0-9a-hjkmnp-tv-z]{10})(?:\.md)?(?:#[^\]|]*)?(?:\|[^\]]*)?\]\]")
_SHOWN = re.compile(r"\[\[[^\]]*\|([0-9a-hjkmnp-tv-z]{10})\]\]")
_WORD = re.compile(r"[^\W_]+(?:[._+-][^\W_]+)*")
_STAMP = re.compile(r"^updated_at:[^\r\n]*", re.MULTILINE)


class Page(NamedTuple):
    """What a page says: a memory as it is, and its relations as they are written there."""

    memory: Memory
    relations: tuple[Relation, ...]


# --- writing ------------------------------------------------------------------------------------


def render(
    memory: Memory, relations: Iterable[Relation], name_of: Callable[[str], str | None]
) -> str:
    """Return the page of a memory; `name_of` gives the file of another memory, for links to it."""
    head: dict[str, Any] = {}
    for field in _FIELDS:
        value = getattr(memory, field)
        if value is None:
            continue
        if isinstance(value, Origin):
            value = value._asdict()
        head[field] = list(value) if isinstance(value, tuple) else value
    links = [_link(r, name_of(r.to_uid)) for r in relations if r.removed_at is None]
    if links:
        head["relations"] = links
    head |= {k: v for k, v in memory.extra.items() if k in _EDITORS}
    nested = {k: v for k, v in memory.extra.items() if k not in _EDITORS}
    if nested:
        head["extra"] = nested
    return f"---\n{frontmatter.dumps(head)}---\n{memory.content}\n"


def stamped(text: str, updated_at: str) -> str:
    """Return a page that somebody edited with the time of that edit, otherwise as it is."""
    found = _STAMP.search(text, 0, frontmatter.ends(text))
    if found is None:
        return text
    return f"{text[: found.start()]}updated_at: {updated_at}{text[found.end() :]}"


def file_name(memory: Memory) -> str:
    """Return where a memory's page is made: folders for the parts of its domain, words, its uid."""
    folders = [_slug(part, 60) or "-" for part in (memory.domain or "").split("/") if part]
    first = next((line for line in memory.content.splitlines() if line.strip()), "")
    words = _slug(first, 60)
    return "/".join([*folders, f"{words}-{memory.uid}.md" if words else f"{memory.uid}.md"])


def _slug(text: str, most: int) -> str:
    """Return the words of a text in a form that is good for the name of a file everywhere."""
    from unicodedata import normalize

    kept = ""
    for word in _WORD.findall(normalize("NFC", text[:500]).lower()):
        longer = f"{kept}-{word}" if kept else word
        if len(longer) > most or len(longer.encode()) > 2 * most:
            return kept or longer.encode()[: 2 * most].decode(errors="ignore")[:most]
        kept = longer
    return kept


def _link(relation: Relation, name: str | None) -> dict[str, Any]:
    """Return a relation as front matter has it; a link, so that editors show and follow it."""
    stem = (name or relation.to_uid).rpartition("/")[2].removesuffix(".md")
    shown = "" if stem.endswith(relation.to_uid) else f"|{relation.to_uid}"
    link: dict[str, Any] = {"type": relation.type, "to": f"[[{stem}{shown}]]"}
    if relation.note is not None:
        link["note"] = relation.note
    return link | {"agent": relation.agent, "created_at": relation.created_at}


# --- reading ------------------------------------------------------------------------------------


def parse(
    text: str, known: Memory | None = None, relations: Iterable[Relation] = ()
) -> Page | None:
    """Return what a page of memai's own says; None if it is somebody else's Markdown.

    What no longer stands in it is as `known` has it: who wrote a memory and when is not lost with a
    line. Raises Broken.
    """
    head, body = frontmatter.split(text)
    record = None if head is None else frontmatter.loads(head)
    if not isinstance(record, dict) or not is_own(record):
        return None
    return _page(record, body.removesuffix("\n"), known, tuple(relations))


def is_own(record: dict[str, Any]) -> bool:
    """Whether a front matter names a memory of memai."""
    try:
        Fields({"uid": _text(record.get("uid"))}).uid("uid")
    except Broken:
        return False
    return "type" in record and "created_at" in record


def _text(value: Any) -> Any:
    """Return a number as the text it was before some tool took its quotes away."""
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def incoming(text: str, place: str) -> Incoming | None:
    """Return the memory of a page, None if it is somebody else's Markdown; raises Broken."""
    page = parse(text)
    return None if page is None else Incoming(place, page.memory, "page", (), page.relations)


def _page(
    record: dict[str, Any], content: str, known: Memory | None, before: tuple[Relation, ...]
) -> Page:
    """Return what the fields of a page say."""
    flat = dict(record)
    flat["tags"] = tags(flat.get("tags"))
    for field in ("uid", "domain", "session", "source", "agent", "key"):
        flat[field] = _text(flat.get(field))
    if isinstance(flat.get("origin"), dict):
        flat["origin"] = {name: _text(value) for name, value in flat["origin"].items()}
    flat["content"] = content
    flat["version"] = 1
    if known is not None:
        for field in ("agent", "key", "origin", "updated_at"):
            if flat.get(field) is None:
                value = getattr(known, field)
                flat[field] = value._asdict() if isinstance(value, Origin) else value
    fields = Fields(flat)
    extra = {name: value for name, value in record.items() if name not in _KNOWN}
    memory = own.memory_of(fields, fields.object("extra") | extra)
    said = {(r.type, r.to_uid): r for r in before}
    related = [_related(memory, item, said) for item in fields.objects("relations")]
    return Page(memory, tuple({(r.type, r.to_uid): r for r in related}.values()))


def tags(value: Any) -> list[str]:
    """Return tags as editors write them: a list, or words with commas, with or without '#'."""
    if value is None:
        return []
    if isinstance(value, str):
        value = [word.strip().removeprefix("#") for word in value.split(",")]
    if not isinstance(value, list):
        raise Broken("'tags' is no list")
    found = [str(item).strip() for item in value if item is not None]
    return list(dict.fromkeys(tag for tag in found if tag))


def _related(
    memory: Memory, record: dict[str, Any], said: dict[tuple[str, str], Relation]
) -> Relation:
    """Return one relation of a page."""
    told = str(record.get("to", ""))
    link = _SHOWN.fullmatch(told.strip()) or _LINK.fullmatch(told.strip())
    uid = link[1] if link else told.strip()
    flat = {"agent": memory.agent, "created_at": memory.updated_at, **record, "to_uid": uid}
    flat.pop("removed_at", None)
    before = said.get((str(record.get("type")), uid))
    if before is not None:
        flat = {**flat, "agent": before.agent, "created_at": before.created_at}
    return own.related(memory.uid, flat)
