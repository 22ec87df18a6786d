"""History and undo: every version of a memory with what changed, and going back to one."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import MODEL

from memai import embedding, operations
from memai.errors import NoSuchMemory, SecretFound, UsageError, VersionConflict
from memai.operations.versions import as_of
from memai.records import Caller
from memai.settings import resolve
from memai.store import Store, open_store


def test_history_lists_every_version_with_what_changed(store: Store) -> None:
    """Newest first; texts by the lines that differ, other fields by what they were and became."""
    uid = operations.note(store, "one\ntwo\nthree", tags=("a",), domain="d").uid
    operations.edit(store, uid, "one\nzwei\nthree", reason="translated")
    operations.edit(store, uid, domain="e", add_tags=("b",))
    operations.confidence(store, uid, "confirmed", reason="seen")
    third, second, first, zeroth = operations.history(store, uid).versions
    assert [v.version for v in (zeroth, first, second, third)] == [1, 2, 3, 4]
    assert zeroth.changes == ()
    assert zeroth.content_chars == len("one\ntwo\nthree")
    assert (first.reason, first.agent) == ("translated", "tester")
    (change,) = first.changes
    assert change.field == "content"
    assert change.diff is not None
    assert {"-two", "+zwei", " one", " three"} <= set(change.diff.splitlines())
    assert {(c.field, c.before, c.after) for c in second.changes} == {
        ("domain", "d", "e"),
        ("tags", ("a",), ("a", "b")),
    }
    (change,) = third.changes
    assert (change.field, change.before, change.after) == ("confidence", "unverified", "confirmed")


def test_a_memory_that_was_never_changed_has_one_version(store: Store) -> None:
    """It says when it was written and by whom."""
    written = operations.note(store, "a text")
    (only,) = operations.history(store, written.uid[:5]).versions
    assert (only.version, only.at, only.agent) == (1, written.memory.created_at, "tester")
    with pytest.raises(NoSuchMemory):
        operations.history(store, "zzzz")


def test_a_change_of_line_ends_is_told(store: Store) -> None:
    """No line differs, and still it is another text."""
    uid = operations.note(store, "one\ntwo").uid
    operations.edit(store, uid, "one\r\ntwo")
    (change,) = operations.history(store, uid).versions[0].changes
    assert change.diff == "Only the ends of lines differ."


def test_reverting_makes_a_version_current_again(store: Store) -> None:
    """Text, tags, domain, type and source; as a new version, which words and vectors follow."""
    uid = operations.note(
        store, "walrus", tags=("a",), domain="d", source="a mail", session="s"
    ).uid
    operations.edit(
        store, uid, "giraffe", tags=("b",), clear=("domain", "source"), type="reasoning"
    )
    operations.forget(store, (uid,))
    reverted = operations.edit(store, uid, revert=1).memory
    assert (reverted.content, reverted.tags, reverted.domain) == ("walrus", ("a",), "d")
    assert (reverted.source, reverted.type) == ("a mail", "note")
    assert (reverted.status, reverted.version) == ("archived", 4)  # restore is for that
    assert operations.history(store, uid).versions[0].reason == "back to version 1"
    operations.restore(store, (uid,))
    assert operations.search(store, "walrus").hits[0].uid == uid
    assert store.by_words(_words("giraffe"), _everything(), 9) == []
    assert store.check(deep=True) == []
    again = operations.edit(store, uid, revert=2, reason="no, the other").memory
    assert (again.content, again.tags) == ("giraffe", ("b",))


def _words(query: str):
    from memai.queries import word_query

    return word_query(query)


def _everything():
    from memai.records import Where

    return Where(current=False)


def test_reverting_to_what_it_is_changes_nothing(store: Store) -> None:
    """An edit that changes nothing is no edit."""
    uid = operations.note(store, "a text").uid
    answer = operations.edit(store, uid, revert=1)
    assert answer.memory.version == 1
    assert "already so" in answer.notes[0]


def test_reverting_wants_a_version_there_was(store: Store) -> None:
    """And nothing besides; a version that someone else changed meanwhile is seen."""
    uid = operations.note(store, "a text").uid
    operations.edit(store, uid, "another")
    for version in (3, 99):
        with pytest.raises(UsageError, match="versions 1 to 2"):
            operations.edit(store, uid, revert=version)
    with pytest.raises(UsageError, match="two edits"):
        operations.edit(store, uid, "third", revert=1)
    with pytest.raises(VersionConflict):
        operations.edit(store, uid, revert=1, version=1)
    assert operations.show(store, uid).memory.content == "another"


def test_restore_brings_a_memory_back_with_its_relations(store: Store) -> None:
    """Forgetting hides it and keeps them."""
    one = operations.note(store, "the older").uid
    other = operations.note(store, "the newer").uid
    operations.link(store, other, "relates_to", one, note="why")
    operations.forget(store, (one,), superseded_by=other)
    operations.forget(store, (one,))
    operations.restore(store, (one,))
    shown = operations.show(store, one)
    assert shown.memory.current
    assert [(r.type, r.uid, r.note) for r in shown.relations] == [("relates_to", other, "why")]


FIELDS = st.fixed_dictionaries(
    {},
    optional={
        "content": st.text(
            st.characters(codec="utf-8", exclude_characters="\0"), min_size=1
        ).filter(lambda text: any(character.isalnum() for character in text)),
        "domain": st.sampled_from(("d", "e", "d/e")),
        "tags": st.lists(st.sampled_from(("a", "b", "c")), unique=True).map(tuple),
        "type": st.sampled_from(("note", "reasoning")),
    },
)


@settings(max_examples=15)
@given(edits=st.lists(FIELDS.filter(bool), min_size=1, max_size=5), data=st.data())
def test_every_version_can_be_had_again(
    tmp_path_factory: pytest.TempPathFactory, edits: list[dict[str, object]], data: st.DataObject
) -> None:
    """Whatever was edited: what a version was is known from the history, and reverting gives it."""
    embedding._loaded[MODEL.name] = MODEL
    path = str(tmp_path_factory.mktemp("versions") / "m.db")
    store = open_store(
        settings=resolve(path)._replace(model=MODEL.name), caller=Caller(agent="tester")
    )
    uid = operations.note(store, "the first text").uid
    seen = [store.get(uid)]
    for fields in edits:
        try:
            memory = operations.edit(store, uid, **fields).memory
        except SecretFound:
            continue
        if memory.version > seen[-1].version:
            seen.append(memory)
    for memory in seen:
        was = as_of(store.get(uid), store.history(uid), memory.version)
        assert was._replace(updated_at=memory.updated_at) == memory
    chosen = data.draw(st.sampled_from(seen))
    now = operations.edit(store, uid, revert=chosen.version).memory
    assert (now.content, now.domain, now.tags, now.type) == (
        chosen.content,
        chosen.domain,
        chosen.tags,
        chosen.type,
    )
    store.close()
