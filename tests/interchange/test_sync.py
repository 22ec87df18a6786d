"""sync: a folder of pages and the store, changed on either side or on both."""

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from exchange import all_of, counts, on_disk, told
from support import memory

from memai import operations
from memai.errors import Busy, Refused, UsageError
from memai.operations.folder import locked
from memai.records import Imported
from memai.store import Store

Opener = Callable[..., Store]
SECRET = "AWS key AKIAIOSFODNN7EXAMPLE found in log"


@pytest.fixture(autouse=True)
def _nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Keep the folder of the tests from naming a domain."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """Return the folder that is synced."""
    return tmp_path / "notes"


def sync(store: Store, notes: Path, **options: Any) -> Imported:
    """Sync a folder."""
    return operations.sync(store, str(notes), **options)


def page_of(notes: Path, uid: str) -> Path:
    """Return the page of a memory."""
    (found,) = (p for p in notes.rglob("*.md") if f"uid: {uid}" in p.read_text().replace('"', ""))
    return found


def rewritten(path: Path, old: str, new: str) -> None:
    """Edit a page as a person does, a while after it was written."""
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    later = path.stat().st_mtime_ns + 10**9
    os.utime(path, ns=(later, later))


def quiet(store: Store, notes: Path) -> None:
    """Check that nothing is left to do."""
    before = {p: (p.read_bytes(), p.stat().st_mtime_ns) for p in notes.rglob("*.md")}
    answer = sync(store, notes)
    assert (answer.new, answer.changed, answer.conflicts) == (0, 0, ())
    assert {p: (p.read_bytes(), p.stat().st_mtime_ns) for p in notes.rglob("*.md")} == before


def test_every_memory_gets_a_page_and_keeps_it(store: Store, notes: Path) -> None:
    """Archived and superseded ones too; the name stays when text and domain change."""
    one = operations.note(store, "The first text.", domain="shop").uid
    two = operations.note(store, "The second text.").uid
    operations.link(store, two, "supersedes", one)
    operations.forget(store, (one,))
    assert counts(sync(store, notes)) == (2, 0, 0, 0, 0)
    assert on_disk(notes) == told(store)
    quiet(store, notes)
    path = page_of(notes, one)
    assert path.relative_to(notes).as_posix() == f"shop/the-first-text-{one}.md"
    assert path.stat().st_mode & 0o777 == 0o600
    operations.edit(store, one, "Another text.", domain="elsewhere")
    assert counts(sync(store, notes)) == (0, 1, 1, 0, 0)
    assert page_of(notes, one) == path
    assert on_disk(notes) == told(store)


def test_an_edited_page_is_an_edit_with_history(store: Store, notes: Path) -> None:
    """Text and fields; who did it and where is in the history, the page is stamped."""
    uid = operations.note(store, "First text.", tags=("x",)).uid
    sync(store, notes)
    path = page_of(notes, uid)
    rewritten(path, "First text.", "Better text.\nWith a line.")
    rewritten(path, "  - x\n", "  - x\n  - y\n")
    rewritten(path, "confidence: unverified", "confidence: confirmed")
    assert counts(sync(store, notes)) == (0, 1, 0, 0, 0)
    kept = store.get(uid)
    assert (kept.content, kept.tags) == ("Better text.\nWith a line.", ("x", "y"))
    assert kept.confidence == "confirmed"
    (edit,) = store.history(uid)
    assert edit.before["content"] == "First text."
    assert edit.reason == f"edited in {path.name}"
    assert f"updated_at: {kept.updated_at}" in path.read_text()
    quiet(store, notes)


def test_what_only_looks_different_is_no_edit(store: Store, notes: Path) -> None:
    """Other quotes, another order, a time of the file: memory and page stay as they are."""
    uid = operations.note(store, "A text.", tags=("x", "y")).uid
    sync(store, notes)
    path = page_of(notes, uid)
    text = path.read_text().replace("tags:\n  - x\n  - y\n", "tags: ['x', \"y\"]  # mine\n")
    path.write_text(text)
    assert counts(sync(store, notes)) == (0, 0, 1, 0, 0)
    assert path.read_text() == text
    os.utime(path)
    quiet(store, notes)
    assert store.get(uid).version == 1


def test_new_files_become_memories_and_get_their_uid(store: Store, notes: Path) -> None:
    """Their text is unchanged, their fields are kept, their folders are their domain."""
    notes.mkdir()
    (notes / "shop").mkdir()
    (notes / "shop" / "Idea.md").write_text(
        "---\ntags: [new, '#idea']\ntype: gotcha\naliases: [foo]\ncreated: 2025-01-02\n---\n"
        "A text.\n"
    )
    (notes / "plain.md").write_text("# Plain\n\nJust words")
    (notes / "empty.md").write_text(" \n")
    (notes / "picture.png").write_bytes(b"\x89PNG")
    assert counts(sync(store, notes)) == (2, 0, 0, 0, 0)
    idea, plain = sorted(all_of(store), key=lambda m: m.content, reverse=True)[:2]
    if idea.content != "A text.":
        idea, plain = plain, idea
    assert (idea.type, idea.tags, idea.domain) == (
        "anti_pattern",
        ("new", "idea", "gotcha"),
        "shop",
    )
    assert (idea.extra, idea.created_at) == ({"aliases": ["foo"]}, "2025-01-02T00:00:00.000000Z")
    assert idea.origin is None
    assert (plain.content, plain.domain, plain.agent) == ("# Plain\n\nJust words", None, "tester")
    text = (notes / "shop" / "Idea.md").read_text()
    assert "aliases:\n  - foo\n" in text
    assert text.endswith("---\nA text.\n")
    assert page_of(notes, plain.uid).name == "plain.md"
    assert (notes / "empty.md").read_text() == " \n"
    quiet(store, notes)


def test_domains_are_spelled_as_the_store_spells_them(store: Store, notes: Path) -> None:
    """What pages, files and other tools call a domain follows its policy, like any write."""
    operations.note(store, "A text.")
    operations.domains_policy(store, "lower")
    sync(store, notes)
    (notes / "Shop").mkdir()
    (notes / "Shop" / "new.md").write_text("A new text.\n")
    rewritten(page_of(notes, all_of(store)[0].uid), "status:", "domain: Shop\nstatus:")
    sync(store, notes)
    assert {m.domain for m in all_of(store)} == {"shop"}
    assert on_disk(notes) == told(store)
    quiet(store, notes)


def test_a_deleted_page_archives_its_memory(store: Store, notes: Path) -> None:
    """It is never purged; it stays away until somebody brings it back, on either side."""
    uid = operations.note(store, "A text.").uid
    operations.note(store, "Another.")
    sync(store, notes)
    path = page_of(notes, uid)
    text = path.read_text()
    path.unlink()
    assert counts(sync(store, notes)) == (0, 1, 1, 0, 0)
    assert store.get(uid).status == "archived"
    assert not path.exists()
    quiet(store, notes)
    operations.edit(store, uid, add_tags=("later",))  # put away, and still being sorted
    assert not sync(store, notes).conflicts
    assert not path.exists()
    operations.restore(store, (uid,))
    assert counts(sync(store, notes)) == (0, 1, 1, 0, 0)
    assert "status: active" in page_of(notes, uid).read_text()
    page_of(notes, uid).unlink()
    sync(store, notes)
    path.write_text(text)  # as from version control
    assert counts(sync(store, notes)) == (0, 1, 1, 0, 0)
    assert store.get(uid).status == "active"


def test_an_edit_of_an_archived_page_brings_it_back(store: Store, notes: Path) -> None:
    """Whoever edits what was put away wants it back; what only changes its tags does not."""
    uid = operations.note(store, "A text.").uid
    operations.forget(store, (uid,))
    sync(store, notes)
    path = page_of(notes, uid)
    rewritten(path, "tags: []", "tags: [x]")
    sync(store, notes)
    assert (store.get(uid).status, store.get(uid).tags) == ("archived", ("x",))
    rewritten(path, "A text.", "A better text.")
    assert counts(sync(store, notes)) == (0, 1, 0, 0, 0)
    assert store.get(uid).status == "active"
    assert "status: active" in path.read_text()
    rewritten(path, "status: active", "status: archived")
    sync(store, notes)
    assert store.get(uid).status == "archived"
    quiet(store, notes)


@pytest.mark.parametrize("page_newer", [True, False])
def test_changes_on_both_sides_are_listed_and_both_kept(
    store: Store, notes: Path, page_newer: bool
) -> None:
    """The newer text stands on both sides, the other is in the history; other fields come along."""
    uid = operations.note(store, "base").uid
    sync(store, notes)
    path = page_of(notes, uid)
    rewritten(path, "base\n", "from the page\n")
    operations.edit(store, uid, "from the store", add_tags=("t",))
    when = path.stat().st_mtime_ns + (10**12 if page_newer else -(10**12))
    os.utime(path, ns=(when, when))
    answer = sync(store, notes)
    assert counts(answer) == (0, 1, 0, 1, 0)
    assert answer.needs_person
    assert answer.conflicts[0].uid == uid
    kept = store.get(uid)
    assert kept.content == ("from the page" if page_newer else "from the store")
    assert kept.tags == ("t",)
    texts = {kept.content, *(e.before.get("content") for e in store.history(uid))}
    assert texts >= {"base", "from the page", "from the store"}
    assert on_disk(notes) == told(store)
    quiet(store, notes)


def test_a_page_that_was_deleted_and_a_memory_that_was_changed(store: Store, notes: Path) -> None:
    """The change is not lost: the page is written again, and the conflict is listed."""
    uid = operations.note(store, "A text.").uid
    operations.note(store, "Another.")
    sync(store, notes)
    page_of(notes, uid).unlink()
    operations.edit(store, uid, "A newer text.")
    answer = sync(store, notes)
    assert len(answer.conflicts) == 1
    assert store.get(uid).status == "active"
    assert page_of(notes, uid).read_text().endswith("A newer text.\n")
    page_of(notes, uid).unlink()
    operations.forget(store, (uid,))  # both sides put it away
    assert sync(store, notes).conflicts == ()
    quiet(store, notes)


def test_moved_pages_are_the_same_memories(store: Store, notes: Path) -> None:
    """A page may have any name and folder; links to it follow."""
    one = operations.note(store, "The first.").uid
    two = operations.note(store, "The second.").uid
    sync(store, notes)
    (notes / "deep").mkdir()
    page_of(notes, one).rename(notes / "deep" / "My page.md")
    assert counts(sync(store, notes)) == (0, 0, 2, 0, 0)
    quiet(store, notes)
    operations.link(store, two, "relates_to", one)
    sync(store, notes)
    assert f"[[My page|{one}]]" in page_of(notes, two).read_text()
    assert on_disk(notes) == told(store)


def test_of_two_pages_with_one_uid_the_first_stays(store: Store, notes: Path) -> None:
    """A copied page is told and left alone until its uid is taken out; then it is a new memory."""
    uid = operations.note(store, "A text.").uid
    sync(store, notes)
    path = page_of(notes, uid)
    copy = notes / "a copy.md"
    copy.write_text(path.read_text().replace("A text.", "A copied text."))
    answer = sync(store, notes)
    assert [fault.place for fault in answer.errors] == ["a copy.md"]
    assert store.get(uid).content == "A text."
    assert copy.read_text().endswith("A copied text.\n")
    copy.write_text(copy.read_text().replace(f"uid: {uid}\n", "").replace(f'uid: "{uid}"\n', ""))
    assert sync(store, notes).new == 1
    assert {m.content for m in all_of(store)} == {"A text.", "A copied text."}


def test_a_page_whose_front_matter_was_taken_away_is_still_its_memory(
    store: Store, notes: Path
) -> None:
    """What is left is its text; all else stays as it was, and is written again."""
    uid = operations.note(store, "A text.", tags=("x",), domain="shop").uid
    sync(store, notes)
    path = page_of(notes, uid)
    path.write_text("Only words.\n")
    assert counts(sync(store, notes)) == (0, 1, 0, 0, 0)
    kept = store.get(uid)
    assert (kept.content, kept.tags, kept.domain) == ("Only words.", ("x",), "shop")
    assert page_of(notes, uid) == path


def test_a_store_is_made_again_from_its_folder(opener: Opener, notes: Path) -> None:
    """Every field, relation and time comes back; only the history is not in pages."""
    store, other, third = opener("one.db"), opener("two.db"), opener("three.db")
    one = operations.note(store, "one\n", domain="a/B", tags=("x",), key="k", source="s").uid
    two = operations.reasoning(store, "two", session="sitting").uid
    operations.link(store, one, "supersedes", two, note="why")
    operations.edit(store, one, "one, edited\n")
    operations.confidence(store, two, "contradicted")
    operations.forget(store, (two,))
    imported = memory("from afar", extra={"title": "T", "n": 1.5})
    with store.writing():
        store.adopt([(imported, (), None)])
    sync(store, notes)
    for fresh in (other, third):
        assert counts(sync(fresh, notes)) == (3, 0, 0, 0, 0)
        bare = [m._replace(version=1) for m in all_of(store)]
        assert [m._replace(version=1) for m in all_of(fresh)] == bare
        assert told(fresh) == told(store)
        quiet(fresh, notes)
    assert operations.import_memories(opener("four.db"), str(notes)).new == 3


def test_two_stores_share_a_folder(opener: Opener, notes: Path) -> None:
    """What one says the other hears, by way of the pages; neither answers the other for ever."""
    one, two = opener("one.db", agent="ann"), opener("two.db", agent="bob")
    uid = operations.note(one, "base").uid
    sync(one, notes)
    sync(two, notes)
    operations.edit(two, uid, "by bob", add_tags=("t",))
    sync(two, notes)
    assert counts(sync(one, notes)) == (0, 1, 0, 0, 0)
    assert one.get(uid)._replace(version=0) == two.get(uid)._replace(version=0)
    for store in (two, one, two):
        quiet(store, notes)


def test_an_old_page_is_no_news(opener: Opener, notes: Path, tmp_path: Path) -> None:
    """A store that knows a page's text as one of its past brings the page up to date."""
    store = opener("one.db")
    uid = operations.note(store, "first").uid
    sync(store, notes)
    operations.edit(store, uid, "second")
    moved = tmp_path / "moved"  # the same pages under another name: nothing is remembered of them
    notes.rename(moved)
    assert counts(sync(store, moved)) == (0, 1, 0, 0, 0)
    assert store.get(uid).content == "second"
    assert page_of(moved, uid).read_text().endswith("second\n")
    operations.edit(store, uid, "third")
    rewritten(page_of(moved, uid), "second", "edited there")
    again = tmp_path / "again"
    moved.rename(again)
    answer = sync(store, again)
    assert len(answer.conflicts) == 1
    assert {e.before.get("content") for e in store.history(uid)} >= {"first", "second", "third"}


def test_purged_memories_stay_purged(store: Store, notes: Path) -> None:
    """Their pages are named by purge, told by sync until they are gone, and never read in again."""
    uid = operations.note(store, "to be erased").uid
    operations.note(store, "Another.")
    sync(store, notes)
    path = page_of(notes, uid)
    purged = operations.purge(store, uid, confirm=f"DELETE {uid}")
    assert any(str(path) in note for note in purged.notes)
    answer = sync(store, notes)
    assert [c.uid for c in answer.conflicts] == [uid]
    assert path.exists()
    assert store.find(uid) is None
    path.unlink()
    quiet(store, notes)


# --- what cannot be read --------------------------------------------------------------------------


def test_what_cannot_be_read_is_told_and_left_alone(store: Store, notes: Path) -> None:
    """Neither the page nor its memory is touched, whichever of them was changed."""
    uids = [operations.note(store, f"text {number}").uid for number in range(6)]
    sync(store, notes)
    paths = [page_of(notes, uid) for uid in uids]
    paths[0].write_text(paths[0].read_text().replace("status: active", "status: done"))
    paths[1].write_bytes(b"\xff\xfe")
    paths[2].write_text(paths[2].read_text().replace("tags: []", "tags: &a [*a]"))
    paths[3].write_text(paths[3].read_text().partition("---\ntext")[0] + "---\n \n")
    paths[4].unlink()
    paths[4].symlink_to(paths[5])
    broken = [path.read_bytes() for path in paths]
    for uid in uids[:5]:
        operations.edit(store, uid, "changed meanwhile")
    for _ in range(2):
        answer = sync(store, notes)
        assert {f.place for f in answer.errors} == {path.name for path in paths[:5]}
        assert answer.needs_person
    assert [path.read_bytes() for path in paths] == broken
    assert all(store.get(uid).content == "changed meanwhile" for uid in uids[:5])
    assert all(store.get(uid).status == "active" for uid in uids)


def test_a_broken_page_that_was_moved_archives_nothing(store: Store, notes: Path) -> None:
    """Its uid is still seen in it."""
    uid = operations.note(store, "A text.").uid
    sync(store, notes)
    path = page_of(notes, uid)
    text = path.read_text().replace("status: active", "status: done")
    path.unlink()
    (notes / "moved.md").write_text(text)
    assert len(sync(store, notes).errors) == 1
    assert store.get(uid).status == "active"


def test_credentials_in_pages_are_refused_or_redacted(store: Store, notes: Path) -> None:
    """The page is left alone and told; with --redact both sides hold it without the value."""
    uid = operations.note(store, "A text.").uid
    sync(store, notes)
    rewritten(page_of(notes, uid), "A text.", SECRET)
    (notes / "new.md").write_text(f"{SECRET}\n")
    answer = sync(store, notes)
    assert len(answer.errors) == 2
    assert all("AKIA" not in fault.reason for fault in answer.errors)
    assert store.get(uid).content == "A text."
    answer = sync(store, notes, redact=True)
    assert answer.errors == ()
    assert all("AKIA" not in m.content for m in all_of(store))
    assert all("AKIA" not in p.read_text() for p in notes.rglob("*.md"))


def test_a_folder_that_lost_all_its_pages_is_not_believed(store: Store, notes: Path) -> None:
    """A disk that is not there, or another branch, archives nothing."""
    for number in range(8):
        operations.note(store, f"text {number}")
    sync(store, notes)
    aside = notes.with_name("aside")
    notes.rename(aside)
    with pytest.raises(Refused, match="not there"):
        sync(store, notes)
    notes.mkdir()
    with pytest.raises(Refused, match="None of the 8 pages"):
        sync(store, notes)
    assert all(m.status == "active" for m in all_of(store))
    notes.rmdir()
    aside.rename(notes)
    quiet(store, notes)


def test_a_folder_that_cannot_be_looked_into_archives_nothing(store: Store, notes: Path) -> None:
    """Where a folder became a link the pages in it are unknown, not gone."""
    uid = operations.note(store, "A text.", domain="shop").uid
    operations.note(store, "Another.")
    sync(store, notes)
    outside = notes.with_name("outside")
    (notes / "shop").rename(outside)
    (notes / "shop").symlink_to(outside)
    answer = sync(store, notes)
    assert [fault.place for fault in answer.errors] == ["shop"]
    assert store.get(uid).status == "active"
    operations.note(store, "A third text.", domain="shop")
    answer = sync(store, notes)
    assert len(answer.errors) == 2  # and nothing is written through the link
    assert len(list(outside.iterdir())) == 1


def test_a_name_that_leads_out_of_the_folder_is_never_used(store: Store, notes: Path) -> None:
    """Whatever a domain or text is called, pages lie in the folder."""
    for domain in ("..", "../..", "a/..", ".hidden", "con", "/etc"):
        try:
            operations.note(store, f"../../{domain}", domain=domain)
        except UsageError:
            continue
    sync(store, notes)
    assert all(notes in p.resolve().parents for p in notes.rglob("*.md"))
    assert len(list(notes.rglob("*.md"))) == len(all_of(store))
    assert {p.name for p in notes.parent.iterdir()} <= {
        "notes", "home", "memories.db", "memories.db-wal", "memories.db-shm"
    }  # fmt: skip


@pytest.mark.parametrize("folder", ["", "a file"])
def test_what_is_no_folder_is_refused(store: Store, tmp_path: Path, folder: str) -> None:
    """Nothing is made of it."""
    (tmp_path / "a file").write_text("x")
    with pytest.raises(UsageError):
        operations.sync(store, folder)


# --- how it is done -------------------------------------------------------------------------------


def test_a_dry_run_says_what_would_be_and_does_nothing(store: Store, notes: Path) -> None:
    """In a folder that is not there, and in one where both sides changed."""
    uid = operations.note(store, "A text.").uid
    other = operations.note(store, "Another.").uid
    assert counts(sync(store, notes, dry_run=True)) == (2, 0, 0, 0, 0)
    assert not notes.exists()
    sync(store, notes)
    rewritten(page_of(notes, uid), "A text.", "From the page.")
    operations.edit(store, other, "From the store.")
    (notes / "new.md").write_text("New.\n")
    before = {p: p.read_bytes() for p in notes.rglob("*.md")}, told(store), store.meta("changes")
    answer = sync(store, notes, dry_run=True)
    assert counts(answer) == (1, 2, 0, 0, 0)
    assert {change.why for change in answer.changes} == {
        "from its file",
        "from its page",
        "to its page",
    }
    after = {p: p.read_bytes() for p in notes.rglob("*.md")}, told(store), store.meta("changes")
    assert after == before
    assert counts(sync(store, notes)) == (1, 2, 0, 0, 0)


def test_only_what_changed_is_read_and_written(
    store: Store, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pages whose size and time are as they were are not opened."""
    for number in range(5):
        operations.note(store, f"text {number}")
    sync(store, notes)
    for path in notes.rglob("*.md"):
        os.utime(path, ns=(10**18, 10**18))
    sync(store, notes)  # what was just written is looked at once more
    from memai import files

    opened: list[str] = []
    real = files.read
    monkeypatch.setattr(files, "read", lambda path, most: opened.append(path) or real(path, most))
    quiet(store, notes)
    assert opened == []
    path = next(iter(notes.rglob("*.md")))
    rewritten(path, "text", "new text")
    sync(store, notes)
    assert set(opened) == {str(path)}


def test_a_change_that_keeps_size_and_time_is_seen_soon_after(store: Store, notes: Path) -> None:
    """A page that was written a moment ago is compared by its bytes."""
    uid = operations.note(store, "one").uid
    sync(store, notes)
    path = page_of(notes, uid)
    status = path.stat()
    path.write_text(path.read_text().replace("one\n", "two\n"))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert counts(sync(store, notes)) == (0, 1, 0, 0, 0)
    assert store.get(uid).content == "two"


def test_a_page_that_changes_while_it_is_written_is_left_to_the_next_sync(
    store: Store, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody's words are written over."""
    uid = operations.note(store, "A text.").uid
    sync(store, notes)
    path = page_of(notes, uid)
    operations.edit(store, uid, "From the store.")
    from memai.operations import folder

    real = folder.Folder.write

    def late(self: Any, drafts: Any) -> Any:
        path.write_text(path.read_text().replace("A text.", "Typed meanwhile."))
        return real(self, drafts)

    with monkeypatch.context() as patch:
        patch.setattr(folder.Folder, "write", late)
        answer = sync(store, notes)
    assert len(answer.errors) == 1
    assert "Typed meanwhile." in path.read_text()
    answer = sync(store, notes)
    assert len(answer.conflicts) == 1
    texts = {store.get(uid).content, *(e.before.get("content") for e in store.history(uid))}
    assert texts >= {"Typed meanwhile.", "From the store."}


def test_one_sync_of_a_folder_at_a_time(opener: Opener, notes: Path) -> None:
    """A second one waits its turn, and says so if it does not come."""
    store = opener(busy_seconds=0.2)
    operations.note(store, "A text.")
    sync(store, notes)
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with locked(str(notes), 1):
            held.set()
            done.wait(5)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(5)
    with pytest.raises(Busy):
        sync(store, notes)
    done.set()
    thread.join()
    quiet(store, notes)


def test_pages_keep_the_mode_a_person_gave_them(store: Store, notes: Path) -> None:
    """What was opened to a group stays so when the page is written again."""
    uid = operations.note(store, "A text.").uid
    sync(store, notes)
    page_of(notes, uid).chmod(0o644)
    operations.edit(store, uid, "Another.")
    sync(store, notes)
    assert page_of(notes, uid).stat().st_mode & 0o777 == 0o644


def test_an_export_to_a_folder_writes_what_sync_would(opener: Opener, notes: Path) -> None:
    """Filters choose; it wants a folder without pages, and a sync finds all in order."""
    store = opener()
    one = operations.note(store, "one", domain="shop").uid
    two = operations.note(store, "two").uid
    operations.link(store, one, "supersedes", two)
    answer: Any = operations.export(store, markdown=str(notes / "part"), domain="shop")
    assert (answer.memories, answer.files) == (1, 1)
    with pytest.raises(UsageError, match="memai sync"):
        operations.export(store, markdown=str(notes))
    whole = notes.with_name("whole")
    answer = operations.export(store, markdown=str(whole))
    assert (answer.memories, answer.files) == (2, 2)
    assert on_disk(whole) == told(store)
    assert counts(sync(store, whole)) == (0, 0, 2, 0, 0)
    quiet(store, whole)
    with pytest.raises(UsageError):
        operations.export(store, markdown=str(whole), output="x")
