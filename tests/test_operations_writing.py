"""Writing, correcting, relating, retiring and erasing memories."""

from collections.abc import Callable
from typing import Any

import pytest
from support import HashedWords, embedded, memory

from memai import embedding, operations, when
from memai.embedding import NoModel
from memai.errors import (
    AmbiguousUid,
    ConfirmationNeeded,
    MemaiError,
    NoSuchMemory,
    NoSuchRelation,
    SecretFound,
    TooLarge,
    UsageError,
    VersionConflict,
)
from memai.operations import merging
from memai.records import Connected, Linked, Memory, Where, Written
from memai.store import Store

Opener = Callable[..., Store]
EVERYTHING = Where(current=False)
WRITERS: dict[str, Callable[..., Written]] = {
    "note": operations.note,
    "checkpoint": lambda store, text, **fields: operations.checkpoint(store, intent=text, **fields),
    "anti_pattern": lambda store, text, **fields: operations.anti_pattern(
        store, pattern=text, **fields
    ),
    "reasoning": operations.reasoning,
    "handoff": operations.handoff,
}
writers = pytest.mark.parametrize("kind", WRITERS)


def unchanged(store: Store, act: Callable[[], object], error: type[MemaiError]) -> str:
    """Check that something is refused and leaves every memory as it was; return the sentence."""
    before = list(store.export(EVERYTHING))
    with pytest.raises(error) as refused:
        act()
    assert list(store.export(EVERYTHING)) == before
    return refused.value.message


# --- writing ------------------------------------------------------------------------------------


@writers
def test_a_writer_keeps_what_it_was_given(opener: Opener, kind: str) -> None:
    """The answer is the memory as it is now kept, signed by the caller, with its type."""
    store = opener(agent="claude", session="sitting 1", domain="at/hand")
    written = WRITERS[kind](store, "The text.", tags=("One", "two"), source="s", key="k")
    assert written.created
    assert written.notes == ()
    assert store.get(written.uid) == written.memory
    kept = written.memory
    assert (kept.type, kept.agent, kept.session) == (kind, "claude", "sitting 1")
    assert (kept.domain, kept.tags, kept.source, kept.key) == ("at/hand", ("One", "two"), "s", "k")
    assert (kept.status, kept.confidence, kept.version) == ("active", "unverified", 1)
    assert "The text." in kept.content


@writers
def test_what_a_writer_keeps_is_found_by_words_and_meaning(store: Store, kind: str) -> None:
    """Words and vectors are there as soon as the writer has answered."""
    uid = WRITERS[kind](store, "walrus polishing").uid
    (hit,) = operations.search(store, "walrus").hits
    assert (hit.uid, hit.match_source) == (uid, "both")


def test_a_checkpoint_labels_its_fields(store: Store) -> None:
    """The four fields stand in one text, in their order; what is not given is left out."""
    kept = operations.checkpoint(
        store, open_questions="Who?", intent="Ship it", established="", pursuing="Tokens"
    )
    assert kept.memory.content == "Intent: Ship it\nPursuing: Tokens\nOpen questions: Who?"


def test_an_anti_pattern_says_what_why_and_what_instead(store: Store) -> None:
    """Its three fields stand in one text."""
    kept = operations.anti_pattern(store, pattern="Retry", why_wrong="Load", instead="Back off")
    assert kept.memory.content == "Anti-pattern: Retry\nWhy wrong: Load\nInstead: Back off"


def test_text_is_kept_to_the_last_byte(store: Store) -> None:
    """Blanks and line ends at the edges are the writer's."""
    text = "  \tkept\r\n\n "
    assert operations.note(store, text).memory.content == text


def test_what_is_said_goes_before_what_is_at_hand(opener: Opener) -> None:
    """A domain or session that is given is taken instead of the caller's; '-' is no domain."""
    store = opener(session="mine", domain="at/hand")
    assert operations.note(store, "1", domain="other").memory.domain == "other"
    assert operations.note(store, "2", domain="-").memory.domain is None
    assert operations.note(store, "3", session="yours").memory.session == "yours"


def test_domains_and_tags_are_trimmed(store: Store) -> None:
    """Blanks around names are no part of them, and a tag that differs in case only is one tag."""
    kept = operations.note(store, "x", domain=" a / b ", tags=(" One ", "ONE", "two")).memory
    assert (kept.domain, kept.tags) == ("a/b", ("One", "two"))


@pytest.mark.parametrize("empty", ["", " \t\r\n", "\u200b\u200b\ufeff", "\u3164", "\u00ad"])
@writers
def test_empty_text_is_refused(store: Store, kind: str, empty: str) -> None:
    """What looks empty to a person is not kept, and no store is made for it."""
    with pytest.raises(UsageError):
        WRITERS[kind](store, empty)
    assert not store.exists()


@pytest.mark.parametrize("broken", ["a\0b", "half \ud83d", "\udc80\udcff bytes"])
@pytest.mark.parametrize("field", ["text", "domain", "session", "source", "key", "tags"])
def test_broken_characters_are_refused(store: Store, field: str, broken: str) -> None:
    """NUL and lone surrogates are kept nowhere; the sentence says where they are."""
    fields = {field: (broken,) if field == "tags" else broken}
    text = fields.pop("text", "text")
    with pytest.raises(UsageError, match=r"NUL|Unicode"):
        operations.note(store, text, **fields)
    assert not store.exists()


@pytest.mark.parametrize(
    "fields",
    [
        {"domain": ""},
        {"domain": " "},
        {"domain": "a//b"},
        {"domain": "/a"},
        {"domain": "two\nlines"},
        {"domain": "x" * 201},
        {"session": ""},
        {"source": "\u200b"},
        {"key": ""},
        {"key": "x" * 201},
        {"tags": ("",)},
        {"tags": ("x" * 65,)},
        {"tags": ("tab\there",)},
        {"tags": tuple(map(str, range(65)))},
    ],
    ids=repr,
)
def test_a_malformed_field_is_refused(store: Store, fields: dict[str, object]) -> None:
    """An empty, overlong or many-lined name is an error, never silently dropped or cut."""
    with pytest.raises(UsageError):
        operations.note(store, "text", **fields)
    assert not store.exists()


def test_text_has_a_limit(store: Store) -> None:
    """A million bytes are kept; one more is refused with the size and the limit."""
    assert operations.note(store, "é" * 500_000).created
    said = unchanged(store, lambda: operations.note(store, "é" * 500_000 + "x"), TooLarge)
    assert "1,000,001 bytes" in said
    assert "1,000,000" in said


def test_nothing_to_keep_is_refused(store: Store) -> None:
    """A checkpoint without a field and an anti-pattern without the pattern say what they need."""
    with pytest.raises(UsageError, match="--intent, --established, --pursuing, --open-questions"):
        operations.checkpoint(store)
    for empty in (None, ""):
        with pytest.raises(UsageError, match="--pattern"):
            operations.anti_pattern(store, pattern=empty, why_wrong="because")


def test_credentials_are_refused_redacted_or_allowed(store: Store) -> None:
    """A key is named by kind and place, never by value; two flags say otherwise."""
    text = "AWS key AKIAIOSFODNN7EXAMPLE found in log"
    with pytest.raises(SecretFound, match="at character 8") as refused:
        operations.note(store, text)
    assert "AKIA" not in refused.value.message
    redacted = operations.note(store, text, redact=True)
    assert "AKIA" not in redacted.memory.content
    assert redacted.notes
    assert operations.note(store, text, allow_secret=True).memory.content == text


@pytest.mark.parametrize(
    "fields",
    [
        {"tags": ("fine", "AKIAIOSFODNN7EXAMPLE")},
        {"source": "https://me:Zx9kQ2pL8vRt@example.org/page"},
        {"domain": "shop/AKIAIOSFODNN7EXAMPLE"},
        {"key": "AKIAIOSFODNN7EXAMPLE"},
        {"session": "AKIAIOSFODNN7EXAMPLE"},
    ],
)
def test_credentials_beside_the_text_are_refused(store: Store, fields: dict[str, Any]) -> None:
    """In a new memory and in an edit, unless allowed; an edit of something else passes then."""
    (what,) = fields
    with pytest.raises(SecretFound, match=f"of {what}"):
        operations.note(store, "a text", **fields)
    uid = operations.note(store, "another").uid
    if what in ("tags", "source", "domain"):
        unchanged(store, lambda: operations.edit(store, uid, **fields), SecretFound)
    kept = operations.note(store, "a text", allow_secret=True, **fields).memory
    assert getattr(kept, what) == fields[what]
    assert operations.edit(store, kept.uid, "another text").memory.version == 2
    (finding,) = [f for f in operations.doctor(store, secrets=True).findings if f.code == "secret"]
    assert f"of {what}" in finding.message


def test_without_a_model_the_text_is_kept_and_the_answer_says_so(opener: Opener) -> None:
    """A model that cannot be loaded costs vectors, not memories."""
    store = opener(model="/no/such/folder")
    written = operations.note(store, "kept all the same")
    assert written.created
    assert "without vectors" in written.notes[0]
    (hit,) = operations.search(store, "kept").hits
    assert (hit.uid, hit.match_source) == (written.uid, "fts")
    edited = operations.edit(store, written.uid, "changed all the same")
    assert "without vectors" in edited.notes[0]


def test_a_space_that_changes_under_a_writer_is_met_again(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A writer that embedded for a space that is gone meanwhile embeds anew and succeeds."""
    operations.note(store, "first")
    other = opener_model(monkeypatch)
    before = embedding.load
    calls = []

    def load(name: str) -> object:
        calls.append(name)
        if len(calls) == 1:
            monkeypatch.setattr(embedding, "load", before)
            operations.reembed(store, model=other)
            monkeypatch.setattr(embedding, "load", load)
        return before(name)

    monkeypatch.setattr(embedding, "load", load)
    written = operations.note(store, "second")
    assert written.created
    assert store.space() is not None
    assert store.space().model == other
    assert store.counts().without_vectors == 0


def opener_model(monkeypatch: pytest.MonkeyPatch) -> str:
    """Register a second small model and return its name."""
    other = HashedWords("other-words", 8)
    monkeypatch.setitem(embedding._loaded, other.name, other)
    return other.name


# --- saying it twice ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "act",
    [
        lambda store, uid, other, said: operations.edit(store, uid, "new", reason=said),
        lambda store, uid, other, said: operations.forget(store, (uid,), reason=said),
        lambda store, uid, other, said: operations.restore(store, (uid,), reason=said),
        lambda store, uid, other, said: operations.confidence(store, uid, "confirmed", reason=said),
        lambda store, uid, other, said: operations.link(store, uid, "relates_to", other, note=said),
    ],
)
def test_credentials_in_reasons_and_remarks_are_refused(
    store: Store, act: Callable[[Store, str, str, str], object]
) -> None:
    """What says why something was done is kept for ever, so it is looked at like a text."""
    uid, other = operations.note(store, "a text").uid, operations.note(store, "another").uid
    unchanged(store, lambda: act(store, uid, other, "key AKIAIOSFODNN7EXAMPLE"), SecretFound)
    act(store, uid, other, "a harmless reason")


def test_what_a_repeated_text_brings_along_in_vain_is_named(store: Store) -> None:
    """A source or key that the memory does not take is said not to be stored."""
    operations.note(store, "Same.", source="a", key="k")
    assert "Not stored" not in operations.note(store, "Same.", source="a").notes[0]
    assert (
        operations.note(store, "Same.", source="b", key="l")
        .notes[0]
        .endswith("Not stored: the source and the key given now.")
    )


@pytest.mark.parametrize("kind", ["note", "anti_pattern", "reasoning"])
def test_the_same_text_again_is_the_same_memory(store: Store, kind: str) -> None:
    """Saving what is there returns it, adds the new tags, and says so."""
    first = WRITERS[kind](store, "Same.", domain="Shop", tags=("a",))
    again = WRITERS[kind](store, "Same.", domain="SHOP", tags=("A", "b"))
    assert (again.uid, again.created) == (first.uid, False)
    assert again.memory.tags == ("a", "b")
    assert first.uid in again.notes[0]
    assert [e.before for e in store.history(first.uid)] == [{"tags": ("a",)}]
    assert store.count(EVERYTHING) == 1
    third = WRITERS[kind](store, "Same.", domain="shop", tags=("b",))
    assert third.memory.version == 2


@pytest.mark.parametrize(
    "fields", [{"text": "same."}, {"domain": "other"}, {"domain": "-"}, {"kind": "reasoning"}]
)
def test_what_differs_is_another_memory(store: Store, fields: dict[str, str]) -> None:
    """Text, type and domain must be equal for two writes to be one memory."""
    operations.note(store, "Same.", domain="shop")
    kind = fields.pop("kind", "note")
    text = fields.pop("text", "Same.")
    assert WRITERS[kind](store, text, **{"domain": "shop", **fields}).created


def test_what_was_forgotten_can_be_saved_anew(store: Store) -> None:
    """An archived or superseded memory does not stand for a new one."""
    first = operations.note(store, "Same.").uid
    operations.forget(store, (first,))
    second = operations.note(store, "Same.")
    assert second.created
    other = operations.note(store, "Newer.").uid
    operations.forget(store, (second.uid,), superseded_by=other)
    assert operations.note(store, "Same.").created


@pytest.mark.parametrize("kind", ["checkpoint", "handoff"])
def test_a_timeline_repeats_itself_only_in_a_row(store: Store, kind: str) -> None:
    """Equal to the latest of its domain and session is a repeat; equal to an older one is not."""
    write = WRITERS[kind]
    first = write(store, "State A", domain="Shop", session="s")
    assert write(store, "State A", domain="shop", session="s").uid == first.uid
    assert write(store, "State A", domain="shop", session="other").created
    assert write(store, "State A", domain="shop/part", session="s").created
    assert write(store, "State A", domain="shop").created
    assert not write(store, "State A", domain="shop", session="s").created
    assert write(store, "State B", domain="shop", session="s").created
    assert write(store, "State A", domain="shop", session="s").created


def test_a_key_makes_a_retry_harmless(store: Store) -> None:
    """The same key gives the first memory whatever the text; a text that was dropped is named."""
    first = operations.note(store, "text", key="job 1", tags=("a",))
    retry = operations.note(store, "text", key="job 1", tags=("a",))
    assert (retry.uid, retry.created) == (first.uid, False)
    other = operations.handoff(store, "another text", key="job 1", tags=("b",))
    assert (other.uid, other.created) == (first.uid, False)
    assert "not stored" in other.notes[0]
    assert store.get(first.uid) == first.memory
    operations.forget(store, (first.uid,))
    assert operations.note(store, "text", key="job 1").uid == first.uid


# --- correcting ---------------------------------------------------------------------------------


def test_an_edit_keeps_what_was(store: Store) -> None:
    """Each edit is one version more, with who, why, and the fields that changed as they were."""
    uid = operations.note(store, "old text", domain="a", tags=("x",)).uid
    operations.edit(store, uid, "new text", reason="asked")
    operations.edit(store, uid, domain="b", type="reasoning", source="mail", tags=("y", "z"))
    shown = operations.show(store, uid)
    assert shown.memory.version == 3
    assert [(e.version, e.agent, e.reason, e.before) for e in shown.history] == [
        (1, "tester", "asked", {"content": "old text"}),
        (2, "tester", None, {"domain": "a", "type": "note", "source": None, "tags": ("x",)}),
    ]
    assert operations.search(store, "old").hits[0].match_source == "vec"
    assert shown.memory.created_at < shown.history[0].at < shown.memory.updated_at


def test_tags_can_be_added_taken_away_replaced_and_cleared(store: Store) -> None:
    """`tags` replaces, the others change; tags are compared without case."""
    uid = operations.note(store, "x", tags=("One", "two")).uid

    def after(**fields: tuple[str, ...]) -> tuple[str, ...]:
        return operations.edit(store, uid, **fields).memory.tags

    assert after(add_tags=("three", "ONE")) == ("One", "two", "three")
    assert after(remove_tags=("TWO",)) == ("One", "three")
    assert after(add_tags=("four",), remove_tags=("three",)) == ("One", "four")
    assert after(tags=("five",)) == ("five",)
    assert after(clear=("tags",)) == ()


def test_fields_can_be_emptied(opener: Opener) -> None:
    """Clearing a field leaves none, whatever domain is at hand."""
    store = opener(domain="at/hand", session="s")
    uid = operations.note(store, "x", source="y", tags=("t",)).uid
    after = operations.edit(store, uid, clear=("domain", "session", "source", "tags")).memory
    assert (after.domain, after.session, after.source, after.tags) == (None, None, None, ())


def test_an_edit_that_changes_nothing_is_no_edit(store: Store) -> None:
    """Version, times and history stay, and the answer says so."""
    before = operations.note(store, "same", tags=("a",))
    after = operations.edit(store, before.uid, "same", add_tags=("A",))
    assert after.memory == before.memory
    assert "already so" in after.notes[0]
    assert store.history(before.uid) == []


def test_an_edit_of_nothing_is_refused(store: Store) -> None:
    """Naming a memory without a change is a mistake worth telling."""
    uid = operations.note(store, "x").uid
    unchanged(store, lambda: operations.edit(store, uid), UsageError)
    unchanged(store, lambda: operations.edit(store, uid, ""), UsageError)
    unchanged(store, lambda: operations.edit(store, uid, domain=""), UsageError)


def test_an_edit_of_an_old_version_is_refused(store: Store) -> None:
    """`version` protects against having read what someone else has changed since."""
    uid = operations.note(store, "one").uid
    operations.edit(store, uid, "two", version=1)
    said = unchanged(store, lambda: operations.edit(store, uid, "x", version=1), VersionConflict)
    assert "at version 2, not 1" in said


def test_a_verdict_is_kept_with_its_history(store: Store) -> None:
    """Confidence changes like any field."""
    uid = operations.note(store, "x").uid
    assert operations.confidence(store, uid, "confirmed").memory.confidence == "confirmed"
    assert "already so" in operations.confidence(store, uid, "confirmed").notes[0]
    operations.confidence(store, uid, "contradicted", reason="seen otherwise")
    assert [(e.before, e.reason) for e in store.history(uid)] == [
        ({"confidence": "unverified"}, None),
        ({"confidence": "confirmed"}, "seen otherwise"),
    ]


@pytest.mark.parametrize("uid", ["", "abc", "zzzzzzzzzz", "-1", "１", "abc%", "no such thing"])
def test_what_is_no_uid_is_no_such_memory(opener: Opener, uid: str) -> None:
    """Every operation that takes a uid says so, and none makes a store for it."""
    for store, makes in ((opener("missing.db"), False), (opener("there.db"), True)):
        if makes:
            operations.note(store, "something else")
        for act in (
            lambda s=store: operations.edit(s, uid, "x"),
            lambda s=store: operations.confidence(s, uid, "confirmed"),
            lambda s=store: operations.forget(s, (uid,)),
            lambda s=store: operations.forget(s, (uid,), superseded_by=uid),
            lambda s=store: operations.restore(s, (uid,)),
            lambda s=store: operations.purge(s, uid, confirm=f"DELETE {uid}"),
            lambda s=store: operations.link(s, uid, "relates_to", uid),
            lambda s=store: operations.unlink(s, uid, "relates_to", uid),
            lambda s=store: operations.show(s, uid),
            lambda s=store: operations.relations(s, uid),
            lambda s=store: operations.list_memories(s, after=uid),
        ):
            unchanged(store, act, NoSuchMemory)
        assert store.exists() == makes


def test_an_abbreviation_that_fits_several_changes_none(store: Store) -> None:
    """An ambiguous uid is an error that names the candidates."""
    made: list[Memory] = [memory(uid="abcd000000"), memory(uid="abcd000001")]
    with store.writing():
        for one in made:
            store.insert(one, embedded(one.content))
    said = unchanged(store, lambda: operations.forget(store, ("abcd",)), AmbiguousUid)
    assert "abcd000000" in said
    assert operations.forget(store, ("abcd000000",)).uids == ("abcd000000",)


# --- relating -----------------------------------------------------------------------------------


def test_a_relation_is_seen_from_both_ends(store: Store) -> None:
    """Each end names the other with its first line, direction, remark and author."""
    one = operations.note(store, "\n  First   line.\nSecond.").uid
    other = operations.note(store, "The other.").uid
    made = operations.link(store, one[:6], "blocks", other[:6], note="until Friday")
    assert made.created
    assert (made.relation.from_uid, made.relation.to_uid) == (one, other)
    at = made.relation.created_at
    assert operations.relations(store, other).relations == (
        Linked("from", "blocks", one, "First line.", "until Friday", "tester", at),
    )
    assert operations.show(store, one).relations == (
        Linked("to", "blocks", other, "The other.", "until Friday", "tester", at),
    )
    again = operations.link(store, one, "blocks", other, note="else")
    assert not again.created
    assert again.relation.note == "until Friday"


def test_a_relation_that_is_not_there_cannot_be_taken_away(store: Store) -> None:
    """The direction counts, and the sentence names what was looked for."""
    one, other = operations.note(store, "1").uid, operations.note(store, "2").uid
    operations.link(store, one, "blocks", other)
    unchanged(store, lambda: operations.unlink(store, other, "blocks", one), NoSuchRelation)
    assert operations.unlink(store, one, "blocks", other).relation.from_uid == one
    assert operations.relations(store, one).relations == ()


def test_relations_keep_their_order_when_the_clock_is_set_back(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is done to a relation is never older than what was done to it before."""
    one, other = (operations.note(store, text).uid for text in ("one", "another"))
    made = operations.link(store, one, "blocks", other).relation
    earlier = when.to_micros(made.created_at) - 3_600_000_000
    monkeypatch.setattr(when, "clock", lambda: earlier)
    gone = operations.unlink(store, one, "blocks", other).relation
    assert merging.newest(made, gone) == gone
    again = operations.link(store, one, "blocks", other).relation
    assert merging.newest(gone, again) == again
    assert operations.link(store, one, "blocks", other) == Connected(
        again, False, (f"{one} blocks {other} was already so.",)
    )


def test_a_memory_of_the_last_moment_can_be_edited(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the last time that has a stored form there is none, and nothing fails for it."""
    with monkeypatch.context() as at_the_end:
        at_the_end.setattr(when, "clock", lambda: when.to_micros("9999-12-31T23:59:59.999999Z"))
        uid = operations.note(store, "the last").uid
    assert operations.edit(store, uid, "after the last").memory.version == 2


@pytest.mark.parametrize("relation", ["", " ", "two\nlines", "x" * 201])
def test_a_relation_is_a_word(store: Store, relation: str) -> None:
    """An empty, overlong or many-lined relation is refused."""
    one, other = operations.note(store, "1").uid, operations.note(store, "2").uid
    unchanged(store, lambda: operations.link(store, one, relation, other), UsageError)


def test_nothing_relates_to_itself_or_supersedes_in_a_circle(store: Store) -> None:
    """A circle of superseding would hide all of it."""
    a, b, c = (operations.note(store, text).uid for text in "abc")
    unchanged(store, lambda: operations.link(store, a, "relates_to", a), UsageError)
    unchanged(store, lambda: operations.forget(store, (a,), superseded_by=a), UsageError)
    operations.link(store, a, "supersedes", b)
    operations.link(store, b, "supersedes", c)
    said = unchanged(store, lambda: operations.link(store, c, "supersedes", a), UsageError)
    assert "circle" in said
    unchanged(store, lambda: operations.forget(store, (a,), superseded_by=c), UsageError)


# --- retiring -----------------------------------------------------------------------------------


def test_forgetting_archives_and_restoring_brings_back(store: Store) -> None:
    """What is forgotten is not shown by default, and nothing of it is lost."""
    one, other = operations.note(store, "one").uid, operations.note(store, "other").uid
    gone = operations.forget(store, (one, other, one), reason="no longer true")
    assert gone.uids == (one, other)
    assert {m.status for m in gone.memories} == {"archived"}
    assert operations.list_memories(store).memories == ()
    assert operations.search(store, "one").hits == ()
    assert len(operations.list_memories(store, all_=True).memories) == 2
    assert [e.reason for e in store.history(one)] == ["no longer true"]
    assert "already so" in operations.forget(store, (one,)).notes[0]
    back = operations.restore(store, (one,), reason="it is true again")
    assert back.memories[0].current
    assert [m.uid for m in operations.list_memories(store).memories] == [one]
    assert "already so" in operations.restore(store, (one,)).notes[0]


def test_several_are_changed_together_or_not_at_all(store: Store) -> None:
    """One wrong uid among many leaves the others as they were."""
    one, other = operations.note(store, "one").uid, operations.note(store, "other").uid
    wrong = (one, other, "0000000000")
    unchanged(store, lambda: operations.forget(store, wrong), NoSuchMemory)
    unchanged(store, lambda: operations.forget(store, wrong, superseded_by=one), NoSuchMemory)
    unchanged(store, lambda: operations.forget(store, (other, one), superseded_by=one), UsageError)


@pytest.mark.parametrize("act", [operations.forget, operations.restore])
def test_naming_no_memory_is_refused(store: Store, act: Callable[..., object]) -> None:
    """An empty list is a mistake of a script, not a success."""
    one = operations.note(store, "one").uid
    unchanged(store, lambda: act(store, ()), UsageError)
    unchanged(store, lambda: operations.forget(store, (), superseded_by=one), UsageError)


def test_superseding_hides_without_archiving(store: Store) -> None:
    """`forget --superseded-by` and `link supersedes` are the same act; restore lifts it."""
    old, newer = operations.note(store, "old").uid, operations.note(store, "newer").uid
    (hidden,) = operations.forget(store, (old,), superseded_by=newer, reason="why").memories
    assert (hidden.status, hidden.superseded_by) == ("active", (newer,))
    assert operations.relations(store, old).relations[0].note == "why"
    assert not operations.link(store, newer, "supersedes", old).created
    assert [m.uid for m in operations.list_memories(store).memories] == [newer]
    back = operations.restore(store, (old,))
    assert back.memories[0].current
    assert newer in back.notes[0]
    assert operations.relations(store, newer).relations == ()


def test_forgetting_the_newer_says_what_stays_hidden(store: Store) -> None:
    """What it superseded does not come back by itself, and the answer names it."""
    old, newer = operations.note(store, "old").uid, operations.note(store, "newer").uid
    operations.link(store, newer, "supersedes", old)
    notes = operations.forget(store, (newer,)).notes
    assert any(old in note and "restore" in note for note in notes)
    assert operations.list_memories(store).memories == ()


# --- erasing ------------------------------------------------------------------------------------


@pytest.mark.parametrize("confirm", [None, "", "DELETE", "yes", "delete {uid}", "DELETE {short}"])
def test_purging_wants_the_whole_phrase(store: Store, confirm: str | None) -> None:
    """Without the literal phrase nothing is erased, and the sentence says the phrase."""
    uid = operations.note(store, "x").uid
    phrase = None if confirm is None else confirm.format(uid=uid, short=uid[:6])
    said = unchanged(
        store, lambda: operations.purge(store, uid, confirm=phrase), ConfirmationNeeded
    )
    assert f"DELETE {uid}" in said


def test_purging_wants_the_whole_uid(store: Store) -> None:
    """An abbreviation is refused even with the right phrase."""
    uid = operations.note(store, "x").uid
    act = lambda: operations.purge(store, uid[:6], confirm=f"DELETE {uid}")  # noqa: E731
    unchanged(store, act, ConfirmationNeeded)


def test_purging_leaves_nothing_but_a_tombstone(store: Store) -> None:
    """Text, history, words, vectors and relations are gone; a second purge finds no memory."""
    uid = operations.note(store, "secret walrus", key="k").uid
    other = operations.note(store, "other").uid
    operations.edit(store, uid, "still secret walrus")
    operations.link(store, uid, "supersedes", other)
    gone = operations.purge(store, uid, confirm=f"DELETE {uid}")
    assert (gone.uid, gone.erased, gone.notes) == (uid, True, ())
    assert store.buried(uid)
    assert operations.search(store, "walrus").hits[0].uid == other
    assert operations.show(store, other).memory.current
    assert store.counts()[:1] == (1,)
    with pytest.raises(NoSuchMemory):
        operations.purge(store, uid, confirm=f"DELETE {uid}")
    assert operations.note(store, "secret walrus", key="k").created


def test_the_packaged_model_is_used_unless_told_otherwise(opener: Opener) -> None:
    """A store made without a word about models finds a paraphrase that shares no word."""
    store = opener(model=embedding.DEFAULT)
    assert not isinstance(embedding.load(), NoModel)
    wanted = operations.note(store, "The car broke down on the motorway.").uid
    for text in ("The cat sleeps on the sofa.", "Invoices go out on the last day."):
        operations.note(store, text)
    best = operations.search(store, "vehicle trouble while driving").hits[0]
    assert (best.uid, best.match_source) == (wanted, "vec")
