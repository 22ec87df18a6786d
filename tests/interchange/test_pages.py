"""memai's own pages and front matter: what is written is read again, whatever it is."""

from typing import Any

import pytest
from exchange import json_values, wholes
from hypothesis import given, settings
from hypothesis import strategies as st
from support import memory

from memai.formats import Broken, frontmatter, pages
from memai.records import Edit, Memory, Origin, Relation

AT = "2026-03-29T08:00:00.000000Z"
keys = st.text(st.characters(exclude_categories=["Cs"]), max_size=10)


@settings(max_examples=300)
@given(st.dictionaries(keys, json_values, max_size=5))
def test_front_matter_is_read_as_it_was_written(record: dict[str, Any]) -> None:
    """Any fields of JSON, with words that YAML would take for something else."""
    text = f"---\n{frontmatter.dumps(record)}---\nbody"
    head, body = frontmatter.split(text)
    assert body == "body"
    assert head is not None
    assert frontmatter.loads(head) == (record or None)


@pytest.mark.parametrize(
    ("yaml", "value"),
    [
        ("a: no", {"a": "no"}),
        ("a: 2026-03-29", {"a": "2026-03-29"}),
        ("a: 12:30:00", {"a": "12:30:00"}),
        ("a: 0123", {"a": "0123"}),
        ("a: 0x10", {"a": "0x10"}),
        ("a: .inf", {"a": ".inf"}),
        ("a: 1e999", {"a": "1e999"}),
        ("a: 1e5", {"a": 1e5}),
        ("a: -7", {"a": -7}),
        ("a: true", {"a": True}),
        ("a: ~", {"a": None}),
        ("a:", {"a": None}),
        ("a: 'it''s'", {"a": "it's"}),
        ("a: |\n  two\n  lines\n", {"a": "two\nlines\n"}),
        ("a: [b, 'c', 1]", {"a": ["b", "c", 1]}),
        ("a:\n- b\n- c: d\n", {"a": ["b", {"c": "d"}]}),
        ("# only a remark", None),
        ("", None),
        ("- a", ["a"]),
        ("just words", "just words"),
        ("1: a", {"1": "a"}),
    ],
)
def test_words_mean_what_yaml_1_2_says(yaml: str, value: Any) -> None:
    """Dates, times and yes and no are texts: what a person wrote comes out as it was."""
    assert frontmatter.loads(yaml) == value


@settings(max_examples=150)
@given(wholes())
def test_a_page_is_read_as_it_was_written(
    whole: tuple[Memory, tuple[Edit, ...], tuple[Relation, ...]],
) -> None:
    """The whole memory and its relations, but for its history, to the character."""
    made, _, relations = whole
    text = pages.render(made, relations, lambda _uid: None)
    page = pages.parse(text)
    assert page is not None
    assert page.memory == made._replace(version=1)
    live = [r for r in relations if r.removed_at is None]
    assert set(page.relations) == set({(r.type, r.to_uid): r for r in live}.values())
    assert pages.render(page.memory, page.relations, lambda _uid: None) == text


@given(wholes())
def test_the_name_of_a_page_is_fit_for_every_filesystem(
    whole: tuple[Memory, tuple[Edit, ...], tuple[Relation, ...]],
) -> None:
    """Words and a uid, no way up, nothing hidden, short enough, and the same every time."""
    name = pages.file_name(whole[0])
    assert name == pages.file_name(whole[0])
    assert name.endswith(f"{whole[0].uid}.md")
    for part in name.split("/"):
        assert part.strip(". ")
        assert not part.startswith(".")
        assert len(part.encode()) <= 200
        assert not set(part) & set('<>:"\\|?*\0\n\t')


def test_a_page_reads_well() -> None:
    """Words stand without quotes, lists one entry a line, the text below unchanged."""
    made = memory(
        "Staging resets at night.\n\nEvery day.\n",
        uid="abcdefgh12",
        domain="shop/PROJ-7",
        tags=("staging", "two words", "no"),
        source="a mail: today",
        origin=Origin("mem0", "x"),
        created_at=AT,
        updated_at=AT,
        extra={"aliases": ["Night"], "mood": {"of": 1}},
    )
    relation = Relation(made.uid, "supersedes", "9876543210", "why", "cli", AT)
    assert pages.file_name(made) == "shop/proj-7/staging-resets-at-night-abcdefgh12.md"
    assert pages.render(made, [relation], lambda uid: f"x/old-{uid}.md") == (
        "---\n"
        "uid: abcdefgh12\n"
        "type: note\n"
        "domain: shop/PROJ-7\n"
        "tags:\n"
        "  - staging\n"
        "  - two words\n"
        '  - "no"\n'
        "status: active\n"
        "confidence: unverified\n"
        "agent: tester\n"
        'source: "a mail: today"\n'
        'origin: {"system": "mem0", "key": "x"}\n'
        f"created_at: {AT}\n"
        f"updated_at: {AT}\n"
        "relations:\n"
        '  - {"type": "supersedes", "to": "[[old-9876543210]]", "note": "why", "agent": "cli", '
        f'"created_at": "{AT}"}}\n'
        "aliases:\n"
        "  - Night\n"
        'extra: {"mood": {"of": 1}}\n'
        "---\n"
        "Staging resets at night.\n\nEvery day.\n\n"
    )


HEAD = f"uid: abcdefgh12\ntype: note\ncreated_at: {AT}\n"


def parsed(head: str, body: str = "text\n") -> pages.Page:
    """Return what a page with more front matter says."""
    page = pages.parse(f"---\n{HEAD}{head}---\n{body}")
    assert page is not None
    return page


def test_what_editors_make_of_a_page_means_the_same() -> None:
    """Tags with signs or commas, numbers without quotes, Windows lines, blocks instead of flows."""
    assert parsed("tags: '#a, #b,'\n").memory.tags == ("a", "b")
    assert parsed("tags:\n  - '#a'\n  - 7\n").memory.tags == ("#a", "7")
    assert parsed("session: 42\n").memory.session == "42"
    assert parsed("origin:\n  system: mem0\n  key: 7\n").memory.origin == Origin("mem0", "7")
    assert parsed("cssclasses: wide\n").memory.extra == {"cssclasses": "wide"}
    windows = f"---\n{HEAD}---\none\ntwo\n".replace("\n", "\r\n")
    page = pages.parse(windows)
    assert page is not None
    assert page.memory.content == "one\ntwo"
    number = pages.parse(f"---\nuid: 1234567890\ntype: note\ncreated_at: {AT}\n---\ntext\n")
    assert number is not None
    assert number.memory.uid == "1234567890"


@pytest.mark.parametrize(
    "to",
    [
        "9876543210",
        "[[9876543210]]",
        "[[old-text-9876543210]]",
        "[[folder/old-text-9876543210.md]]",
        "[[old-text-9876543210#Part|shown]]",
        "[[My old text|9876543210]]",
    ],
)
def test_relations_are_links_or_uids(to: str) -> None:
    """However a person or an editor writes the other end."""
    (relation,) = parsed(f'relations:\n  - type: see\n    to: "{to}"\n').relations
    assert (relation.type, relation.to_uid) == ("see", "9876543210")


@pytest.mark.parametrize(
    "head",
    [
        "status: done\n",
        "confidence: 7\n",
        "tags: {a: 1}\n",
        "relations: x\n",
        "relations: [{type: see, to: nobody}]\n",
        "relations: [{type: see, to: abcdefgh12}]\n",
        "relations: [{to: '9876543210'}]\n",
        "domain: a//b\n",
        "updated_at: yesterday\n",
        "extra: 7\n",
    ],
)
def test_a_page_with_what_cannot_be_meant_is_broken(head: str) -> None:
    """It is told, not taken for something else."""
    with pytest.raises(Broken):
        parsed(head)


@pytest.mark.parametrize(
    "text",
    ["", "text", "---\n---\n", "---\nuid: x\n---\n", "---\na: b\n---\ntext", "---\n- a\n---\n"],
)
def test_other_peoples_markdown_is_no_page(text: str) -> None:
    """Without a uid, a type and a time nothing is taken for a page of memai's."""
    assert pages.parse(text) is None


def test_an_edited_page_is_stamped_and_otherwise_left_alone() -> None:
    """Only the time of the last change is brought up to date, whatever else stands there."""
    text = f"---\n# mine\n{HEAD}updated_at: {AT}\n---\nupdated_at: never\n"
    later = "2027-01-01T00:00:00.000000Z"
    assert pages.stamped(text, later) == text.replace(f"updated_at: {AT}", f"updated_at: {later}")
    assert pages.stamped("no head", later) == "no head"
    windows = text.replace("\n", "\r\n")
    assert pages.stamped(windows, later) == windows.replace(
        f"updated_at: {AT}", f"updated_at: {later}"
    )
