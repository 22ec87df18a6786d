"""Other people's Markdown: notes, memory banks, instructions, decision records, folders of them."""

import itertools
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from exchange import all_of, counts
from hypothesis import given
from hypothesis import strategies as st

from memai import operations, repository
from memai.errors import Unreadable, UsageError
from memai.formats import sections
from memai.records import Imported, Memory
from memai.store import Store

Opener = Callable[..., Store]
_numbers = itertools.count()


@pytest.fixture(autouse=True)
def _nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Keep the folder of the tests from naming a domain."""
    monkeypatch.chdir(tmp_path)


def laid(root: Path, **files: str) -> Path:
    """Lay files, their names with `__` for slashes and without their ending."""
    for name, text in files.items():
        path = root / (name.replace("__", "/") + ".md")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    return root


def taken(opener: Opener, path: Path, **options: object) -> dict[str, Memory]:
    """Import a path into a fresh store; return the memories by the first line of their text."""
    store = opener(f"{next(_numbers)}.db")
    operations.import_memories(store, str(path), **options)  # type: ignore[arg-type]
    return {memory.content.split("\n")[0]: memory for memory in all_of(store)}


# --- sections -----------------------------------------------------------------------------------


def cut(text: str) -> list[tuple[tuple[str, ...], str]]:
    """Return the sections of a text."""
    return [(section.path, section.text) for section in sections.cut(text)]


def test_a_text_is_cut_at_its_headings() -> None:
    """Each section has the headings it stands under; one with nothing of its own is none."""
    text = "before\n\n# One\n\n## Two\n\ntext of two\n\n### Three ###\nof three\n\n## Four\nfour\n"
    assert cut(text) == [
        ((), "before"),
        (("One", "Two"), "text of two"),
        (("One", "Two", "Three"), "of three"),
        (("One", "Four"), "four"),
    ]


def test_underlined_headings_count_and_code_does_not() -> None:
    """Setext headings, fences of both kinds, and lines that only look like headings."""
    text = (
        "Title\n=====\ntext\n\nPart\n---\n```sh\n# a comment\n```\n~~~~\n# another\n```\n~~~~\n"
        "#no heading\n\n- item\n---\nrest"
    )
    assert cut(text) == [
        (("Title",), "text"),
        (
            ("Title", "Part"),
            "```sh\n# a comment\n```\n~~~~\n# another\n```\n~~~~\n#no heading\n\n- item\n---\nrest",
        ),
    ]


def test_headings_are_read_without_their_markup() -> None:
    """Links, emphasis and code in a heading are only their words."""
    text = "# **Bold** [link](http://x) `code` [[page|shown]]\ntext"
    assert cut(text) == [(("Bold link code shown",), "text")]


@given(st.text(st.sampled_from("ab \n`~>*"), max_size=80))
def test_no_word_is_lost_by_cutting(text: str) -> None:
    """Where there are no headings the text stays whole."""
    whole = "\n".join(text.splitlines()).strip("\n").rstrip()
    assert cut(text) == ([((), whole)] if text.strip() else [])


def test_a_file_of_headings_alone_is_one_memory(opener: Opener, tmp_path: Path) -> None:
    """What stands only in headings is not lost; an empty file is nothing."""
    root = laid(tmp_path / "notes", todo="# Fix login\n\n# Fix mails\n", empty="", blank=" \n\n")
    found = taken(opener, root)
    assert [m.content for m in found.values()] == ["todo\n\n# Fix login\n\n# Fix mails"]


@given(st.text(max_size=200))
def test_any_text_can_be_cut(text: str) -> None:
    """Whatever it is, cutting ends, and gives texts that say something."""
    assert all(section.text.strip() for section in sections.cut(text))


# --- kinds of files -----------------------------------------------------------------------------


def test_a_note_of_basic_memory_is_one_memory_with_its_relations(
    opener: Opener, tmp_path: Path
) -> None:
    """Front matter, observations and relations mean what they mean there."""
    root = laid(
        tmp_path / "vault",
        coffee=(
            "---\ntitle: Coffee Methods\ntype: note\ntags: [coffee, brewing]\n"
            "permalink: coffee-methods\ncreated: 2025-01-02T03:04:05Z\n---\n\n"
            "# Coffee Methods\n\n## Observations\n- [method] Pour over is clear #clarity\n\n"
            "## Relations\n- relates_to [[Bean Origins]]\n- requires [[grinding]]\n"
            "- and [[Nobody]]\n"
        ),
        beans="---\ntitle: Bean Origins\npermalink: beans\ntype: Place\n---\nFrom far away.\n",
        kitchen__grinding="---\ntags: grind\n---\nFine.\n",
    )
    store = opener()
    assert counts(operations.import_memories(store, str(root))) == (3, 0, 0, 0, 0)
    by_line = {m.content.split("\n")[0]: m for m in all_of(store)}
    coffee, beans = by_line["# Coffee Methods"], by_line["Bean Origins"]
    grinding = by_line["grinding"]
    assert coffee.tags == ("coffee", "brewing", "clarity")
    assert coffee.created_at == "2025-01-02T03:04:05.000000Z"
    assert coffee.extra == {"title": "Coffee Methods", "permalink": "coffee-methods"}
    assert beans.tags == ("Place",)
    assert beans.content == "Bean Origins\n\nFrom far away."
    assert grinding.tags == ("grind",)
    told = {(r.type, r.to_uid) for r in store.relations(coffee.uid) if r.from_uid == coffee.uid}
    assert told == {("relates_to", beans.uid), ("requires", grinding.uid)}


def test_a_note_of_memory_mcp_keeps_its_scope_and_times(opener: Opener, tmp_path: Path) -> None:
    """Its scope is the domain, whatever its shape; its id names it wherever it lies."""
    text = (
        "---\nid: 7b7c6f3e-8f1c-4f5e-9a43-0d6f3a1b2c3d\nname: postgres/pool\ntags:\n- postgres\n"
        "scope: {}\ncreated_at: 2025-05-06T07:08:09.123456789Z\n"
        "updated_at: 2025-06-06T07:08:09Z\nsource: claude\n---\n\nCheck the timeout.\n"
    )
    one = laid(
        tmp_path / "one", a=text.format("my-api"), b=text.format("global").replace("7b7c", "8c")
    )
    two = laid(tmp_path / "two" / "deep", z=text.format("{type: Project, name: my-api}"))
    found, again = taken(opener, one), taken(opener, two)
    assert len(found) == 1  # the same first line; two memories
    (here,) = found.values()
    (there,) = again.values()
    assert (there.domain, there.tags, there.source) == ("my-api", ("postgres",), "claude")
    assert there.created_at == "2025-05-06T07:08:09.123456Z"
    assert there.updated_at == "2025-06-06T07:08:09.000000Z"
    assert here.content == "postgres/pool\n\nCheck the timeout."


def test_a_memory_bank_is_cut_into_its_sections(opener: Opener, tmp_path: Path) -> None:
    """Types come from the file and the heading, days from the headings, tags from both."""
    root = laid(
        tmp_path / "memory-bank",
        activeContext="# Active Context\n\n## Current Focus\nLogin.\n\n## Known Issues\nTokens.\n",
        decisionLog=(
            "# Decision Log\n\n## [2025-03-02 10:30] - Use SQLite\n**Decision:** one file.\n\n"
            "## [2025-04-01] - Use apsw\nIt brings its own.\n"
        ),
        productContext="Plain words without a heading.\n",
    )
    found = taken(opener, root)
    focus = found["Active Context › Current Focus"]
    assert (focus.type, focus.content.split("\n\n")[1]) == ("checkpoint", "Login.")
    assert focus.tags == ("memory-bank", "Active Context", "Current Focus")
    assert found["Active Context › Known Issues"].type == "anti_pattern"
    sqlite = found["Decision Log › [2025-03-02 10:30] - Use SQLite"]
    assert (sqlite.type, sqlite.created_at) == ("reasoning", "2025-03-02T10:30:00.000000Z")
    assert found["productContext"].content == "productContext\n\nPlain words without a heading."


def test_instructions_are_cut_into_sections(opener: Opener, tmp_path: Path) -> None:
    """CLAUDE.md and AGENTS.md become notes that say what they are, also as a single file."""
    root = laid(tmp_path / "project", AGENTS="# Rules\n\nBe kind.\n\n## Testing\n\nRun pytest.\n")
    (root / "CLAUDE.md").symlink_to("AGENTS.md")
    found = taken(opener, root / "AGENTS.md")
    assert set(found) == {"Rules", "Rules › Testing"}
    assert found["Rules › Testing"].tags == ("instructions", "Rules", "Testing")
    # A link that is named is followed, and what it leads to is the same as it is itself.
    linked = taken(opener, root / "CLAUDE.md")
    assert {m.uid for m in linked.values()} == {m.uid for m in found.values()}


ADRS = {
    "docs__adr__0001-use-notify": (
        "# 1. Use Notify\n\nDate: 2024-01-02\n\n## Status\n\nSuperseded by [ADR 3](0003-use-ses.md)"
        "\n\n## Context\n\nMails.\n\n## Decision\n\nNotify.\n\n## Consequences\n\nFine.\n"
    ),
    "docs__adr__0002-use-madr": (
        "---\nstatus: accepted\ndate: 2024-02-03\ndeciders: [ada]\n---\n# Use MADR\n\n"
        "## Context and Problem Statement\n\nForms.\n\n## Decision Outcome\n\nMADR.\n"
    ),
    "docs__adr__0003-use-ses": (
        "# 3. Use SES\n\n* Status: accepted\n* Date: 2024-03-04\n\n## Context\n\nNotify is slow.\n"
    ),
    "docs__adr__0004-more": (
        "# 4. More\n\n## Status\n\nAccepted\n\nSupersedes ADR-0002\n\n## Decision\n\nMore.\n"
    ),
    "docs__adr__template": "# Title\n\n## Context\n\nWrite here.\n",
}


def test_decision_records_say_what_replaced_them(opener: Opener, tmp_path: Path) -> None:
    """Status becomes a tag, what superseded a record hides all of it, by link or by number."""
    root = laid(tmp_path / "project", **ADRS)
    store = opener()
    operations.import_memories(store, str(root))
    found = {m.content.split("\n")[0]: m for m in all_of(store)}
    old = [m for name, m in found.items() if name.startswith("1. Use Notify")]
    assert len(old) == 4
    assert all(m.superseded_by for m in old)
    assert all(m.type == "reasoning" and "superseded" in m.tags for m in old)
    madr = found["Use MADR › Decision Outcome"]
    assert (madr.tags[:2], madr.created_at) == (("adr", "accepted"), "2024-02-03T00:00:00.000000Z")
    assert madr.superseded_by == (found["4. More › Decision"].uid,)
    assert found["3. Use SES › Context"].current
    assert found["3. Use SES"].superseded_by == ()
    assert "adr" not in found["Title › Context"].tags


def test_plain_files_are_cut_too(opener: Opener, tmp_path: Path) -> None:
    """Any Markdown can be imported; a rule at the top is no front matter."""
    root = laid(
        tmp_path / "notes", a="---\n\nJust text.\n\n---\n\nMore.\n", b="# B\n\n## Why\n\nSo.\n"
    )
    found = taken(opener, root)
    assert found["a"].content == "a\n\n---\n\nJust text.\n\n---\n\nMore."
    assert found["B › Why"].type == "note"
    assert found["B › Why"].source == "markdown: b.md"


# --- where it lies ------------------------------------------------------------------------------


def git(folder: Path, *arguments: str, date: str = "2024-01-02T03:04:05Z") -> None:
    """Run git in a folder, with a time of its own."""
    environment = {
        **{k: v for k, v in os.environ.items() if not k.startswith("GIT_")},
        "GIT_COMMITTER_DATE": date,
        "GIT_AUTHOR_DATE": date,
        "GIT_CONFIG_GLOBAL": "/dev/null",
    }
    subprocess.run(
        ["git", "-c", "user.name=t", "-c", "user.email=t@t", *arguments],
        cwd=folder,
        env=environment,
        check=True,
        capture_output=True,
    )


def test_times_names_and_domain_come_from_git(opener: Opener, tmp_path: Path) -> None:
    """Files are as old as their commits, their domain is the repository, a clone is the same."""
    root = laid(tmp_path / "shop", docs__a="# A\n\nText.\n", docs__new="# N\n\nNot committed.\n")
    git(root, "init", "-q")
    git(root, "add", "docs/a.md")
    git(root, "commit", "-qm", "one")
    laid(root, docs__a="# A\n\nOther text.\n")
    git(root, "commit", "-qam", "two", date="2025-01-02T03:04:05Z")
    found = taken(opener, root)
    a = found["A"]
    assert (a.created_at, a.updated_at) == (
        "2024-01-02T03:04:05.000000Z",
        "2025-01-02T03:04:05.000000Z",
    )
    assert a.domain == "shop"
    assert found["N"].created_at > "2026"
    git(tmp_path, "clone", "-q", str(root), "elsewhere")
    cloned = taken(opener, tmp_path / "elsewhere" / "docs", domain="x")
    assert cloned["A"].uid == a.uid
    assert cloned["A"].domain == "x"


def test_a_repository_cannot_run_programs(tmp_path: Path) -> None:
    """What its configuration would start is not started by asking when files were written."""
    root = laid(tmp_path / "trap", a="# A\n\nText.\n")
    git(root, "init", "-q")
    git(root, "add", "a.md")
    git(root, "commit", "-qm", "one")
    trap = tmp_path / "sprung"
    script = tmp_path / "script"
    script.write_text(f"#!/bin/sh\ntouch {trap}\n")
    script.chmod(0o755)
    for name in ("core.fsmonitor", "gpg.program", "core.pager", "diff.external", "core.sshCommand"):
        git(root, "config", name, str(script))
    git(root, "config", "log.showSignature", "true")
    trap.unlink(missing_ok=True)  # git itself asked the monitor
    assert repository.times(str(root), ".md").keys() == {"a.md"}
    assert repository.identity(str(root)) is not None
    assert not trap.exists()


def test_folders_of_the_same_name_do_not_mix(opener: Opener, tmp_path: Path) -> None:
    """Every project has a memory bank: two of them are different memories."""
    one = laid(tmp_path / "one" / "memory-bank", progress="# Progress\n\nOne.\n")
    two = laid(tmp_path / "two" / "memory-bank", progress="# Progress\n\nTwo.\n")
    store = opener()
    for root in (one, two):
        assert operations.import_memories(store, str(root)).new == 1
    assert {m.content for m in all_of(store)} == {"Progress\n\nOne.", "Progress\n\nTwo."}


def test_a_folder_is_imported_once_and_its_edits_are_edits(opener: Opener, tmp_path: Path) -> None:
    """The same files change nothing; an edited section is an edit; from the file alone as well."""
    root = laid(tmp_path / "notes", a="# A\n\nText.\n\n## B\n\nMore.\n")
    store = opener()
    assert counts(operations.import_memories(store, str(root))) == (2, 0, 0, 0, 0)
    assert counts(operations.import_memories(store, str(root))) == (0, 0, 2, 0, 0)
    laid(root, a="# A\n\nText.\n\n## B\n\nOther.\n\n## C\n\nNew.\n")
    assert counts(operations.import_memories(store, str(root))) == (1, 1, 1, 0, 0)
    assert counts(operations.import_memories(store, str(root))) == (0, 0, 3, 0, 0)


# --- hostile and broken -------------------------------------------------------------------------

HOSTILE = {
    "aliases": "---\na: &a [x, x]\nb: &b [*a, *a]\n---\ntext",
    "merge keys": "---\nbase: &b {a: 1}\n<<: *b\n---\ntext",
    "a type": "---\nx: !!python/object/apply:os.system [echo]\n---\ntext",
    "double keys": "---\ntags: a\ntags: b\n---\ntext",
    "nesting": "---\nx: " + "[" * 20_000 + "\n---\ntext",
    "deep maps": "---\nx: " + "{a: " * 60 + "1" + "}" * 60 + "\n---\ntext",
    "broken yaml": "---\na: [1\n---\ntext",
    "tabs": "---\n\ta: 1\n---\ntext",
    "two documents": "---\na: 1\n--- \nb: 2\n---\ntext\n",
    "huge": "---\nx: " + "y" * 600_000 + "\n---\ntext",
    "nul": "# A\n\ntext \0\n",
    "large": "# A\n\n" + "x" * 1_100_000,
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_file_changes_nothing(opener: Opener, tmp_path: Path, what: str) -> None:
    """It is an error that names the file, and with --keep-going the rest is taken."""
    root = laid(tmp_path / "notes", good="# Good\n\nText.\n", bad=HOSTILE[what])
    store = opener()
    if what == "two documents":  # the second begins the text
        assert operations.import_memories(store, str(root)).new == 2
        return
    with pytest.raises(Unreadable, match=r"bad\.md"):
        operations.import_memories(store, str(root))
    assert not store.exists()
    answer = operations.import_memories(store, str(root), keep_going=True)
    assert counts(answer) == (1, 0, 0, 0, 1)
    assert answer.errors[0].place == "bad.md"


def test_links_are_refused_and_other_files_left_out(opener: Opener, tmp_path: Path) -> None:
    """Nothing outside the folder is read by way of it; hidden folders and code are not asked."""
    secret = laid(tmp_path / "outside", secret="# Secret\n\nOutside.\n")
    root = laid(
        tmp_path / "notes",
        good="# Good\n\nText.\n",
        **{".obsidian__x": "# No\n\nNo.\n", "node_modules__y": "# No\n\nNo.\n"},
    )
    (root / "link.md").symlink_to(secret / "secret.md")
    (root / "folder").symlink_to(secret)
    (root / "code.py").write_text("# A comment\n")
    os.mkfifo(root / "pipe.md")
    store = opener()
    with pytest.raises(Unreadable, match="symbolic link"):
        operations.import_memories(store, str(root))
    answer: Imported = operations.import_memories(store, str(root), keep_going=True)
    assert {fault.place for fault in answer.errors} == {"link.md", "folder", "pipe.md"}
    assert [m.content for m in all_of(store)] == ["Good\n\nText."]


def test_what_is_no_text_is_told(opener: Opener, tmp_path: Path) -> None:
    """Bytes that are not UTF-8, and names that are not, are errors of their files."""
    root = laid(tmp_path / "notes", good="# Good\n\nText.\n")
    (root / "latin.md").write_bytes("# Caf\xe9\n\nText.\n".encode("latin-1"))
    with open(os.path.join(os.fsencode(root), b"n\xe9.md"), "w") as odd:
        odd.write("# N\n\nText.\n")
    answer = operations.import_memories(opener(), str(root), keep_going=True)
    assert (answer.new, len(answer.errors)) == (1, 2)
    assert all(fault.place.isprintable() for fault in answer.errors)


def test_an_empty_folder_is_no_error(opener: Opener, tmp_path: Path) -> None:
    """There is nothing in it, and that is what is said."""
    (tmp_path / "notes").mkdir()
    assert counts(operations.import_memories(opener(), str(tmp_path / "notes"))) == (0,) * 5
    with pytest.raises(UsageError, match="folder"):
        operations.import_memories(opener(), str(tmp_path / "notes"), format="mem0")
