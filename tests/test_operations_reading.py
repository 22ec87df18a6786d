"""Lists, single memories, domains, the pulse, duplicates, and what looks after the store."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import HashedWords, embedded, memory

from memai import embedding, operations, passages
from memai.errors import ModelMissing, UsageError
from memai.operations.budget import first_line, fitting, shortened, size
from memai.records import Where, to_json
from memai.store import Store

Opener = Callable[..., Store]
EVERYTHING = Where(current=False)


def texts(store: Store, **filters: object) -> list[str]:
    """Return the texts of a list."""
    return [m.content for m in operations.list_memories(store, **filters).memories]


# --- lists --------------------------------------------------------------------------------------


def test_a_list_goes_from_new_to_old(store: Store) -> None:
    """Only current memories, newest first, of every domain whatever is at hand."""
    for number in range(3):
        operations.note(store, f"note {number}", domain=f"d{number}")
    operations.forget(store, (operations.note(store, "gone").uid,))
    assert texts(store) == ["note 2", "note 1", "note 0"]
    assert texts(store, all_=True) == ["gone", "note 2", "note 1", "note 0"]
    assert texts(store, limit=2) == ["note 2", "note 1"]


def test_a_list_can_be_filtered(store: Store, ticking: list[int]) -> None:
    """Each filter narrows exactly; asking for archived ones gives those."""
    operations.note(store, "a", domain="shop", tags=("One",), session="s")
    operations.handoff(store, "b", domain="shop/part")
    operations.forget(store, (operations.note(store, "c").uid,))
    assert texts(store, domain="SHOP") == ["b", "a"]
    assert texts(store, domain="-") == []
    assert texts(store, domain="-", all_=True) == ["c"]
    assert texts(store, status="archived") == ["c"]
    assert texts(store, type="handoff") == ["b"]
    assert texts(store, tags=("ONE",)) == ["a"]
    assert texts(store, session="s") == ["a"]
    assert texts(store, since="2026-02-28", until="2026-03-02") == ["b", "a"]
    assert texts(store, until="2026-02-27") == []


def test_here_is_the_domain_at_hand(opener: Opener) -> None:
    """`here` needs a domain at hand, and an explicit domain goes before it."""
    store = opener(domain="mine")
    operations.note(store, "one")
    operations.note(store, "two", domain="other")
    assert texts(store, here=True) == ["one"]
    assert texts(store, here=True, domain="other") == ["two"]
    assert texts(store) == ["two", "one"]
    with pytest.raises(UsageError, match="domain at hand"):
        operations.list_memories(opener(), here=True)


@pytest.mark.parametrize(
    "filters",
    [
        {"domain": ""},
        {"domain": "a//b"},
        {"session": " "},
        {"tags": ("",)},
        {"since": ""},
        {"since": "2026-02-30"},
        {"until": "sometime"},
    ],
    ids=repr,
)
def test_a_malformed_filter_is_refused(store: Store, filters: dict[str, object]) -> None:
    """An empty or impossible value never widens a filter."""
    for act in (
        lambda: operations.list_memories(store, **filters),
        lambda: operations.search(store, "query", **filters),
    ):
        with pytest.raises(UsageError):
            act()


def test_pages_join_to_the_whole_list(store: Store) -> None:
    """Following `next` gives every memory once and ends with none."""
    for number in range(7):
        operations.note(store, str(number))
    seen, after = [], None
    while True:
        page = operations.list_memories(store, limit=3, after=after)
        seen += [m.content for m in page.memories]
        assert not page.truncated
        after = page.next
        if after is None:
            break
    assert seen == list("6543210")


def test_a_list_that_does_not_fit_goes_on_where_it_stopped(store: Store) -> None:
    """A byte budget cuts between memories, says so, and `next` continues after the last one."""
    for number in range(5):
        operations.note(store, f"{number} " + "x" * 400)
    first = operations.list_memories(store, max_bytes=2000)
    assert first.truncated
    assert sum(map(size, first.memories)) <= 2000
    rest = operations.list_memories(store, after=first.next)
    assert [m.content[0] for m in (*first.memories, *rest.memories)] == list("43210")
    assert not rest.truncated


def test_an_empty_scope_names_its_neighbours(store: Store) -> None:
    """Nothing in a domain that is not there: the answer names similar domains."""
    operations.note(store, "x", domain="PROJ-1042")
    said = operations.list_memories(store, domain="proj-1024").notes
    assert "PROJ-1042 (1)" in said[0]
    assert "no domain 'zzz'" in operations.list_memories(store, domain="zzz").notes[0]
    assert operations.list_memories(store, domain="proj-1042", type="handoff").notes == ()


# --- one memory ---------------------------------------------------------------------------------


def test_a_part_of_a_memory_can_be_shown(store: Store) -> None:
    """A span counts characters, may be open, and says where it is."""
    uid = operations.note(store, "0123456789").uid
    for span, part in {"2:5": "234", ":3": "012", "7:": "789", "5:99": "56789", ":": None}.items():
        shown = operations.show(store, uid, span=span)
        assert shown.memory.content == (part or "0123456789")
        assert "of 10" in shown.notes[0]


@pytest.mark.parametrize("span", ["", "5", "a:b", "-1:5", "5:2", "3:3", "10:", "1" * 5000 + ":"])
def test_a_span_that_holds_nothing_is_refused(store: Store, span: str) -> None:
    """What is no span, or an empty one, is a mistake."""
    uid = operations.note(store, "0123456789").uid
    with pytest.raises(UsageError, match="span"):
        operations.show(store, uid, span=span)


def test_an_outline_shows_the_heads_of_the_passages(store: Store) -> None:
    """A long text is shortened to the first lines of its passages, with their offsets."""
    text = "\n\n".join(f"# Part {n}\n" + f"Sentence {n}. " * 60 for n in range(5))
    uid = operations.note(store, text).uid
    shown = operations.show(store, uid, outline=True)
    assert [(h.start, h.end) for h in shown.outline] == passages.passages(text)
    assert shown.outline[0].first_line.endswith("Part 0")
    assert len(shown.memory.content) <= 200
    assert operations.show(store, uid).memory.content == text


# --- domains ------------------------------------------------------------------------------------


def test_domains_name_their_drift(store: Store, ticking: list[int]) -> None:
    """Spellings that differ in case only are one domain, and the answer names them."""
    operations.note(store, "1", domain="PROJ-1042")
    operations.note(store, "2", domain="proj-1042")
    operations.note(store, "3")
    answer = operations.domains(store)
    assert [(d.domain, d.memories) for d in answer.domains] == [(None, 1), ("PROJ-1042", 2)]
    assert answer.notes == ("PROJ-1042 is also written proj-1042.",)


# --- pulse --------------------------------------------------------------------------------------


def test_a_pulse_goes_by_time_only(store: Store) -> None:
    """The latest checkpoint in full with its relations, what is open, and the recent notes."""
    operations.checkpoint(store, intent="old", domain="shop")
    latest = operations.checkpoint(store, intent="new", domain="shop/part").memory
    done = operations.handoff(store, "done", domain="shop").uid
    operations.handoff(store, "open", domain="shop")
    operations.forget(store, (done,))
    operations.anti_pattern(store, pattern="pitfall", domain="shop")
    note = operations.note(store, "note\n  in two lines", domain="shop").uid
    operations.link(store, latest.uid, "relates_to", note)
    operations.note(store, "elsewhere", domain="other")
    pulse = operations.pulse(store, domain="Shop")
    assert pulse.latest_checkpoint is not None
    assert pulse.latest_checkpoint.memory == latest
    assert [r.uid for r in pulse.latest_checkpoint.relations] == [note]
    assert [d.text for d in pulse.handoffs] == ["open"]
    assert [d.text for d in pulse.anti_patterns] == ["Anti-pattern: pitfall"]
    assert [d.text for d in pulse.recent_notes] == ["note in two lines"]
    assert pulse.omitted[:3] == (0, 0, 0)


def test_a_pulse_is_of_the_domain_at_hand(opener: Opener) -> None:
    """Without a domain it is the caller's, without that everything; an empty one is refused."""
    operations.note(opener(), "mine", domain="mine")
    operations.note(opener(), "other", domain="other")
    assert [d.text for d in operations.pulse(opener(domain="mine")).recent_notes] == ["mine"]
    assert [d.text for d in operations.pulse(opener()).recent_notes] == ["other", "mine"]
    with pytest.raises(UsageError):
        operations.pulse(opener(domain="mine"), domain="")


def test_a_pulse_says_what_it_left_out(store: Store) -> None:
    """Counts of each group, and the command that lists them."""
    for number in range(5):
        operations.note(store, f"note {number}", domain="it's")
        operations.handoff(store, f"handoff {number}", domain="it's")
    pulse = operations.pulse(store, domain="it's", limit=2)
    assert [d.text for d in pulse.recent_notes] == ["note 4", "note 3"]
    assert pulse.omitted[:3] == (3, 0, 3)
    assert pulse.omitted.hint == "memai list -d 'it'\"'\"'s'"


WORDS = st.text('ab é中🚀\n\\"', min_size=1, max_size=900).map(lambda text: "x" + text)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    budget=st.integers(400, 4000),
    checkpoint=WORDS,
    notes=st.lists(WORDS, max_size=4),
    domain=st.sampled_from(["d", "long/" * 12 + "domain"]),
)
def test_a_pulse_keeps_to_its_budget(
    opener: Opener, budget: int, checkpoint: str, notes: list[str], domain: str
) -> None:
    """Whatever is in the store, the answer has at most the bytes asked for, best things first."""
    store = opener(f"{hash((budget, checkpoint, *notes))}.db")
    operations.checkpoint(store, intent=checkpoint, domain=domain)
    for text in notes:
        operations.note(store, text, domain=domain)
        operations.handoff(store, text, domain=domain)
    pulse = operations.pulse(store, domain=domain, max_bytes=budget)
    assert size(pulse) <= budget
    assert pulse.latest_checkpoint is not None or "memai show" in pulse.notes[0]
    shown = len(pulse.handoffs), len(pulse.recent_notes)
    assert shown[0] + pulse.omitted.handoffs == store.count(Where(domain, "handoff"))
    assert shown[1] + pulse.omitted.recent_notes == store.count(Where(domain, "note"))
    if shown[1]:
        assert pulse.omitted.handoffs == 0
    store.close()


# --- budgets ------------------------------------------------------------------------------------


@given(st.lists(st.text(max_size=50)), st.integers(0, 300))
def test_what_fits_is_a_beginning_that_fits(items: list[str], budget: int) -> None:
    """The first always, and then as many as the budget holds."""
    kept = fitting(items, budget)
    assert kept == items[: len(kept)]
    assert len(kept) == len(items) or len(kept) >= 1
    if len(kept) > 1:
        assert sum(map(size, kept)) <= budget
    if len(kept) < len(items):
        assert sum(map(size, items[: len(kept) + 1])) > budget


@given(st.text(), st.integers(2, 100))
def test_a_shortened_text_begins_the_text(text: str, most: int) -> None:
    """It is no longer than asked, and ends in a sign where something was cut."""
    short = shortened(text, most)
    assert len(short) <= most
    assert short == text or (short.endswith("…") and text.startswith(short[:-1]))


@given(st.text())
def test_a_first_line_is_one_line(text: str) -> None:
    """White space is folded and nothing else is lost from the first line that has any."""
    line = first_line(text)
    assert len(line.splitlines()) <= 1
    assert line == line.strip()
    assert bool(line) == bool(text.split())


# --- duplicates ---------------------------------------------------------------------------------


def test_duplicates_name_pairs_with_method_and_score(store: Store) -> None:
    """The older comes first; checkpoints of one domain are a timeline and no duplicates."""
    one = operations.note(store, "Café au lait is served at nine.").uid
    other = operations.note(store, "Cafe\u0301 au lait is served at nine!").uid
    operations.note(store, "Something else entirely happened.")
    for text in ("State one of the work.", "State one of the work!"):
        operations.checkpoint(store, intent=text)
    (pair,) = operations.duplicates(store).pairs
    assert (pair.uid, pair.other) == (one, other)
    assert pair.score >= 0.9
    assert pair.method in ("identical", "meaning", "words")
    assert pair.why
    assert pair.first_line == "Café au lait is served at nine."


# --- looking after the store --------------------------------------------------------------------


def test_an_export_is_a_line_for_every_memory(store: Store) -> None:
    """Every field, the history and the outgoing relations, as JSON, archived ones included."""
    uid = operations.note(store, "one", tags=("t",), domain="d").uid
    other = operations.note(store, "two").uid
    operations.edit(store, uid, "changed")
    operations.link(store, uid, "supersedes", other, note="why")
    operations.forget(store, (uid,))
    lines = {line["uid"]: line for line in operations.export(store)}
    assert set(lines) == {uid, other}
    line = json.loads(json.dumps(lines[uid]))
    kept = to_json(store.get(uid))
    del kept["superseded_by"]
    assert {k: line[k] for k in kept} == kept
    assert [e["before"] for e in line["history"]] == [{"content": "one"}, {"status": "active"}]
    assert [(r["type"], r["to_uid"], r["note"]) for r in line["relations"]] == [
        ("supersedes", other, "why")
    ]
    assert [e["uid"] for e in operations.export(store, domain="d")] == [uid]


def test_a_healthy_store_is_ok(store: Store) -> None:
    """Doctor finds nothing in a store that was only written by memai, deep or not."""
    operations.note(store, "x")
    for deep in (False, True):
        health = operations.doctor(store, deep=deep)
        assert health.ok
        assert not health.needs_person
        assert not [f for f in health.findings if f.level != "advice"]
        assert health.checked


def test_a_missing_model_needs_a_person(opener: Opener) -> None:
    """Doctor and stats say that search finds by words only."""
    store = opener(model="/no/such/folder")
    operations.note(store, "x")
    health = operations.doctor(store)
    assert health.needs_person
    assert "no-model" in {f.code for f in health.findings}
    assert "Words only" in " ".join(operations.stats(store).notes)


def test_a_backup_is_a_verified_copy(store: Store, opener: Opener, tmp_path: Path) -> None:
    """A name ending in .db is the file; anything else a folder, made if missing; none is lost."""
    operations.note(store, "kept in the copy")
    made = operations.backup(store, str(tmp_path / "new" / "copy.db"))
    assert made.path == str(tmp_path / "new" / "copy.db")
    assert made.memories == 1
    copy = opener("new/copy.db")
    assert [m.content for m in copy.page(EVERYTHING, 9)] == ["kept in the copy"]
    with pytest.raises(UsageError, match="overwrites nothing"):
        operations.backup(store, made.path)
    folder = [operations.backup(store, str(tmp_path / "folder")).path for _ in range(2)]
    assert len(set(folder)) == 2
    assert all(Path(path).parent == tmp_path / "folder" for path in folder)
    assert operations.stats(store).last_backup is not None


def test_a_backup_goes_beside_the_store_unless_told_otherwise(store: Store, home: Path) -> None:
    """Without a target it is a dated file among the backups of the home folder."""
    operations.note(store, "x")
    made = Path(operations.backup(store).path)
    assert made.parent == home / "memai" / "backups"
    assert made.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "target", ["../out.db", "/tmp/out.db", "a/b.db", "", ".", "..", "-x.db", "a\nb.db", "x" * 101]
)
def test_a_remote_caller_names_no_paths(opener: Opener, target: str) -> None:
    """Over MCP a backup has a plain name in the folder of backups."""
    store = opener(remote=True)
    operations.note(store, "x")
    with pytest.raises(UsageError, match="plain name"):
        operations.backup(store, target)
    assert operations.backup(store, "plain.db").path.endswith("/memai/backups/plain.db")


def test_there_is_nothing_to_back_up_yet(store: Store) -> None:
    """A missing store is said to be missing, and nothing is made."""
    with pytest.raises(UsageError, match="no store"):
        operations.backup(store)
    assert not store.exists()


def test_reembedding_changes_the_model(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every memory gets a vector of the new model, and searches use it from then on."""
    other = HashedWords("other-words", 8)
    monkeypatch.setitem(embedding._loaded, other.name, other)
    for number in range(12):
        operations.note(store, f"text number {number}")
    done = operations.reembed(store, model=other.name)
    assert (done.model, done.memories, done.passages) == (other.name, 12, 12)
    assert operations.stats(store).model == other.name
    best = operations.search(store, "text number 7").hits[0]
    assert (best.snippet, best.match_source) == ("text number 7", "both")
    assert operations.reembed(store).memories == 0


def test_a_model_that_is_not_there_changes_nothing(store: Store) -> None:
    """Reembedding with it is refused with the reason, and the old vectors serve."""
    operations.note(store, "text")
    before = store.space()
    with pytest.raises(ModelMissing, match="no such folder"):
        operations.reembed(store, model="/no/such/folder")
    assert store.space() == before
    assert operations.search(store, "text").hits[0].match_source == "both"


def test_stats_say_where_and_how_much(store: Store) -> None:
    """Path, counts and sizes add up; before the first write there is no store."""
    assert not operations.stats(store).exists
    operations.note(store, "x", domain="d")
    stats = operations.stats(store)
    assert stats.exists
    assert stats.path == store.settings.path
    assert stats.counts.memories == sum(stats.counts.by_type.values()) == 1
    assert stats.counts.by_domain == {"d": 1}


def test_doctor_fixes_what_it_can(store: Store) -> None:
    """With --fix the words are indexed anew, missing vectors made, after a backup."""
    with store.writing():
        one = memory("stored without vectors")
        store.insert(one, embedded(one.content)._replace(space=None))
    assert not operations.doctor(store).ok
    fixed = operations.doctor(store, fix=True)
    assert fixed.ok
    assert "kept in" in fixed.notes[0]
    assert operations.search(store, "vectors").hits[0].match_source == "both"
