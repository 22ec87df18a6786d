"""Shortcuts that save a command an import give what the long way gives."""

import json
import re
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memai import records, terminal, when
from memai.cli import output, rows
from memai.errors import NoSuchMemory
from memai.operations import budget, checking
from memai.operations.checking import UID_ALPHABET
from memai.store import columns

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FIRST, LAST = -62_135_596_800_000_000, 253_402_300_799_999_999  # the years 1 to 9999
odd = st.sampled_from("a \\\"',[]\t\n\x00\x1f\x7f\x85\xa0\xad\u2028\u3164\ufeff\U000e0001é快\ud800")
texts = st.text() | st.text(odd)


def tags_by_json(written):
    """Return tags as `json` reads them."""
    return tuple(json.loads(written))


@given(tags=st.lists(texts.filter(lambda t: "\ud800" not in t), max_size=4))
def test_tags_of_a_row(tags):
    """Tags as a store writes them come back whatever they hold."""
    written = columns._json(tags)
    assert columns._tags(written) == tags_by_json(written) == tuple(tags)


@given(written=st.text(st.sampled_from('ab",[]\\ \n\té1'), max_size=8))
@example(written='["]')
@example(written='["a","b"')
@example(written='["a", "b"]')
@example(written='["a","b\n"]')
@example(written='["\\u0061"]')
@example(written='[["a"]]')
def test_tags_of_a_damaged_row(written):
    """What no store writes is read or refused as `json` does."""
    try:
        expected = tags_by_json(written)
    except (TypeError, ValueError) as error:
        with pytest.raises(type(error)):
            columns._tags(written)
    else:
        assert columns._tags(written) == expected


@given(micros=st.integers(FIRST, LAST))
@example(micros=FIRST)
@example(micros=LAST)
@example(micros=-1)
def test_times(micros):
    """A time is written as `datetime` writes it."""
    moment = EPOCH + timedelta(microseconds=micros)
    assert when.from_micros(micros) == moment.isoformat("T", "microseconds")[:-6] + "Z"
    assert when.to_micros(when.from_micros(micros)) == micros


@given(written=st.text(st.sampled_from("0123456789-:.TZ +_٣"), min_size=20, max_size=28))
@example(written="2026-02-29T00:00:00.000000Z")
@example(written="0000-12-31T00:00:00.000000Z")
@example(written="9999-12-99T99:99:99.000000Z")
@example(written="2026-13-01T00:00:00.000000Z")
@example(written="2026-11-30T24:00:00.000000Z")
@example(written="2026-11-30T08:12:60.000000Z")
@example(written="2026-11-30T08:12:46.000000+00:00")
@example(written="2026-11-30 08:12:46.000000Z")
@example(written="2026-11-30T08:12:46Z")
@example(written="")
def test_what_is_no_time(written):
    """What is not in the stored form is refused, and what is comes back."""
    try:
        micros = when.to_micros(written)
    except ValueError:
        return
    assert when.from_micros(micros) == written


@pytest.mark.parametrize("micros", [FIRST - 1, LAST + 1, 10**30, -(10**30)])
def test_times_out_of_range(micros):
    """A time that no calendar has is an OverflowError."""
    with pytest.raises(OverflowError):
        when.from_micros(micros)


@given(value=texts)
def test_fields_of_a_pipe(value):
    """A field is escaped as the pattern of what is special says."""
    assert rows.field(value) == re.sub(rows._SPECIAL, rows._escape, value)


@given(value=texts)
def test_texts_for_a_terminal(value):
    """Plain text comes back at once, as the pattern of hazards says."""
    if not re.search(terminal._SUSPECT, value):
        assert terminal.safe(value) == value
    line = re.search("\\S[^\n\r\v\f\x1c-\x1e\x85\u2028\u2029]*", value)
    assert terminal.one_line(value) == (" ".join(line[0].split()) if line else "")


@given(value=texts)
def test_checks(value):
    """What is invisible and what is a line is decided as the patterns say."""
    assert checking._invisible(value) == bool(re.fullmatch(checking._INVISIBLE, value))
    assert checking._is_line(value) == (re.search(checking._CONTROL, value) is None)


@given(uid=st.text(st.sampled_from(UID_ALPHABET + "ilou-A% é"), max_size=12))
def test_uids(uid):
    """What can be a uid is looked for, and nothing else."""
    may_be = re.fullmatch(f"[{UID_ALPHABET}]{{4,10}}", uid.strip().lower())
    assert bool(may_be) == looked_for(uid)


def looked_for(uid):
    """Whether a store looks for a uid."""
    from memai.store.rows import Rows

    asked = []

    class Asked(Rows):
        def all(self, sql, parameters=()):
            asked.append(sql)
            return []

    with pytest.raises(NoSuchMemory):
        Asked.__new__(Asked).resolve(uid)
    return bool(asked)


@given(items=st.lists(st.text(max_size=30), max_size=5))
def test_a_budget_that_nothing_exceeds(items):
    """Without a bound everything fits, as with one that is large enough."""
    assert budget.fitting(items, budget.UNBOUNDED) == budget.fitting(items, 10_000) == items


def test_forms_are_those_of_records():
    """Each form of an answer is that of a record there is."""
    names = {*rows._ROWS, *rows._NAMES_OF, *output._LISTS}
    assert {name for name in names if not hasattr(records, name)} == set()
