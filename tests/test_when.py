"""Times: the stored form, what people type, and ages, in the caller's zone."""

import time
from collections.abc import Callable, Iterator
from datetime import date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memai import errors, when

ZONES = ("Europe/Berlin", "America/New_York", "Asia/Tokyo", "Australia/Lord_Howe")
# Every time that has a stored form.
MICROS = st.datetimes().map(
    lambda wall: int((wall - datetime(1970, 1, 1)).total_seconds()) * 1_000_000 + wall.microsecond  # noqa: DTZ001
)

Place = Callable[..., None]


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """Put the process into a time zone and stop its clock at an instant in the stored form."""

    def put(zone: str, instant: str = "2026-11-30T08:12:46.123456Z") -> None:
        monkeypatch.setenv("TZ", zone)
        time.tzset()
        monkeypatch.setattr(when, "clock", lambda: when.to_micros(instant))

    yield put
    monkeypatch.undo()
    time.tzset()


def day(text: str) -> tuple[str, str]:
    """Read a text as a beginning and as an end."""
    return when.since(text), when.until(text)


def test_now_has_the_stored_form(place: Place) -> None:
    """The current instant is written as 27 characters of UTC, whatever the zone."""
    place("Asia/Tokyo", "2026-01-05T10:00:00.000007Z")
    assert when.now() == "2026-01-05T10:00:00.000007Z"


def test_the_clock_runs() -> None:
    """Without a test's hand on it, the clock agrees with the system's to a minute."""
    assert abs(when.to_micros(when.now()) / 1e6 - time.time()) < 60


@given(MICROS)
def test_stored_form_and_micros_are_inverse(micros: int) -> None:
    """Each microsecond of the years 1 to 9999 has one stored form, which reads back as itself."""
    iso = when.from_micros(micros)
    assert len(iso) == 27
    assert when.to_micros(iso) == micros


@given(MICROS, MICROS)
def test_stored_forms_sort_as_times_do(a: int, b: int) -> None:
    """Texts in the stored form compare as the instants they stand for."""
    assert (when.from_micros(a) < when.from_micros(b)) == (a < b)


@pytest.mark.parametrize(
    "text",
    [
        "2026-11-30T08:12:46Z",
        "2026-11-30 08:12:46.123456Z",
        "2026-11-30T08:12:46.123456",
        "2026-11-30T08:12:46.123456+00:00",
        "2026-11-30T08:12:46,123456Z",
        "2026-W01-1T08:12:46.123456Z",
        "2026-02-30T08:12:46.123456Z",
        "",
    ],
)
def test_other_forms_are_no_stored_form(text: str) -> None:
    """A time from the store is in the stored form or an error."""
    with pytest.raises(ValueError, match=r"."):
        when.to_micros(text)


@pytest.mark.parametrize(
    ("zone", "first", "last"),
    [
        ("UTC", "2026-11-30T00:00:00.000000Z", "2026-11-30T23:59:59.999999Z"),
        ("Europe/Berlin", "2026-11-29T23:00:00.000000Z", "2026-11-30T22:59:59.999999Z"),
        ("America/New_York", "2026-11-30T05:00:00.000000Z", "2026-12-01T04:59:59.999999Z"),
        ("Asia/Tokyo", "2026-11-29T15:00:00.000000Z", "2026-11-30T14:59:59.999999Z"),
        ("Australia/Lord_Howe", "2026-11-29T13:00:00.000000Z", "2026-11-30T12:59:59.999999Z"),
    ],
)
def test_a_date_is_a_whole_local_day(place: Place, zone: str, first: str, last: str) -> None:
    """A date begins at local midnight and ends just before the next, in every zone."""
    place(zone)
    assert day("2026-11-30") == (first, last)
    assert day("monday") == (first, last)


@pytest.mark.parametrize(
    ("zone", "date", "hours"),
    [
        ("Europe/Berlin", "2026-03-29", 23),
        ("Europe/Berlin", "2026-10-25", 25),
        ("America/New_York", "2026-03-08", 23),
        ("America/New_York", "2026-11-01", 25),
        ("Asia/Tokyo", "2026-03-29", 24),
        ("Australia/Lord_Howe", "2026-10-04", 23.5),
        ("Australia/Lord_Howe", "2026-04-05", 24.5),
    ],
)
def test_the_day_of_a_change_of_clocks_is_whole(
    place: Place, zone: str, date: str, hours: float
) -> None:
    """A day on which the clocks change has the hours that it had."""
    place(zone)
    first, last = day(date)
    assert when.to_micros(last) + 1 - when.to_micros(first) == hours * 3_600_000_000


@pytest.mark.parametrize(
    ("zone", "text", "instant"),
    [
        ("Europe/Berlin", "2026-03-29T01:59", "2026-03-29T00:59:00.000000Z"),
        ("Europe/Berlin", "2026-03-29T02:30", "2026-03-29T01:30:00.000000Z"),  # 03:30 summer time
        ("Europe/Berlin", "2026-03-29T03:00", "2026-03-29T01:00:00.000000Z"),
        ("America/New_York", "2026-03-08T02:30", "2026-03-08T07:30:00.000000Z"),
        ("Australia/Lord_Howe", "2026-10-04T02:15", "2026-10-03T15:45:00.000000Z"),  # 02:45 there
    ],
)
def test_times_that_the_clocks_leave_out_move_forward(
    place: Place, zone: str, text: str, instant: str
) -> None:
    """A local time that does not exist means the time as much later as was left out."""
    place(zone)
    assert day(text) == (instant, instant)


@pytest.mark.parametrize(
    ("zone", "text", "instant"),
    [
        ("Europe/Berlin", "2026-10-25T02:30:00", "2026-10-25T00:30:00.000000Z"),
        ("America/New_York", "2026-11-01T01:30", "2026-11-01T05:30:00.000000Z"),
        ("Australia/Lord_Howe", "2026-04-05T01:45", "2026-04-04T14:45:00.000000Z"),
    ],
)
def test_times_that_happen_twice_mean_the_first(
    place: Place, zone: str, text: str, instant: str
) -> None:
    """An ambiguous local time is the earlier of the two."""
    place(zone)
    assert day(text) == (instant, instant)


@pytest.mark.parametrize(
    "text",
    [
        "2026-03-29T02:30Z",
        "2026-03-29t02:30z",
        "2026-03-29 02:30:00Z",
        "2026-03-29T04:30+02:00",
        "2026-03-29T04:30+0200",
        "2026-03-29 04:30:00 +02",
        "2026-03-28T21:30:00.000-05:00",
        "  2026-03-29T02:30:00.000000Z\n",
    ],
)
def test_a_zone_in_the_text_decides(place: Place, text: str) -> None:
    """A date-time with a zone means the same instant everywhere."""
    for zone in ZONES:
        place(zone)
        assert day(text) == ("2026-03-29T02:30:00.000000Z",) * 2


def test_microseconds_count(place: Place) -> None:
    """A fraction of a second is kept to the microsecond, before 1970 too."""
    place("Europe/Berlin")
    assert when.since("1969-12-31T23:59:59.5Z") == "1969-12-31T23:59:59.500000Z"
    assert when.since("1969-12-31T23:59:59.123456") == "1969-12-31T22:59:59.123456Z"
    assert when.since("2026-03-29T10:00:00,1234567899") == "2026-03-29T08:00:00.123456Z"


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        # In Tokyo it is Saturday 28 March, 00:30; in UTC still Friday.
        ("now", "2026-03-27T15:30:00.000000Z", "2026-03-27T15:30:00.000000Z"),
        ("today", "2026-03-27T15:00:00.000000Z", "2026-03-28T14:59:59.999999Z"),
        ("Yesterday", "2026-03-26T15:00:00.000000Z", "2026-03-27T14:59:59.999999Z"),
        ("saturday", "2026-03-27T15:00:00.000000Z", "2026-03-28T14:59:59.999999Z"),
        ("FRIDAY", "2026-03-26T15:00:00.000000Z", "2026-03-27T14:59:59.999999Z"),
        ("sunday", "2026-03-21T15:00:00.000000Z", "2026-03-22T14:59:59.999999Z"),
        ("last week", "2026-03-15T15:00:00.000000Z", "2026-03-22T14:59:59.999999Z"),
        ("last  month", "2026-01-31T15:00:00.000000Z", "2026-02-28T14:59:59.999999Z"),
    ],
)
def test_named_times_are_local(place: Place, text: str, first: str, last: str) -> None:
    """Named days, weeks and months go by the caller's calendar, not by that of UTC."""
    place("Asia/Tokyo", "2026-03-27T15:30:00.000000Z")
    assert day(text) == (first, last)


def test_a_memory_saved_late_in_the_evening_is_of_today(place: Place) -> None:
    """What was saved at 23:30 local time lies within today, whatever day it is in UTC."""
    for zone in ZONES:
        place(zone)
        saved = when.since("2026-11-30T23:30")
        place(zone, saved)
        assert when.since("today") <= saved <= when.until("today")
        assert not when.since("yesterday") <= saved <= when.until("yesterday")


@pytest.mark.parametrize(
    ("texts", "instant"),
    [
        # From Monday 30 March, 12:00 in Berlin, the day after the clocks went forward.
        (("90m", "90min", "90 minutes", "90 min ago"), "2026-03-30T08:30:00.000000Z"),
        (("36h", "36 hours ago", "36H"), "2026-03-28T22:00:00.000000Z"),
        (("2d", "2 days", "2 days ago"), "2026-03-28T11:00:00.000000Z"),
        (("1 day ago", "1d"), "2026-03-29T10:00:00.000000Z"),
        (("1w", "1 week ago", "7d"), "2026-03-23T11:00:00.000000Z"),
        (("1mo", "1 month ago"), "2026-02-28T11:00:00.000000Z"),
        (("13mo", "13 months ago"), "2025-02-28T11:00:00.000000Z"),
        (("1y", "12mo", "1 year ago"), "2025-03-30T10:00:00.000000Z"),
        (("0d", "0m"), "2026-03-30T10:00:00.000000Z"),
    ],
)
def test_lengths_of_time_go_back(place: Place, texts: tuple[str, ...], instant: str) -> None:
    """Minutes and hours are exact; days and more keep the wall time across a change of clocks."""
    place("Europe/Berlin", "2026-03-30T10:00:00.000000Z")
    for text in texts:
        assert day(text) == (instant, instant)


def test_a_leap_day_a_year_later(place: Place) -> None:
    """A month without that day gives its last one."""
    place("UTC", "2028-02-29T12:00:00.000000Z")
    assert when.since("1y") == "2027-02-28T12:00:00.000000Z"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "2026-1-5",
        "1767607200",
        "1767607200.5",
        "20260329",
        "2026-02-30",
        "2026-13-01",
        "2026-03-29T25:00",
        "2026-03-29T24:00",
        "2026-03-29T10:61",
        "2026-03-29T10:00+25:00",
        "2026-03-29Z",
        "2026-W13",
        "0000-01-01",
        "10000-01-01",
        "9999-12-31T23:59:59-05:00",
        "0001-01-01T00:00+05:00",
        "999999999999d",
        "999999999999h",
        "999999999999mo",
        "99999999999999999999999999999999999999y",
        "3000y",
        "9" * 5000 + "d",
        "-3d",
        "3 parsecs",
        "3d ago ago",
        "soon",
        "last",
        "٣d",
        "2026-03-29\x00",
        "\x1b]52;c;aGk=\x07",
    ],
)
def test_what_is_no_time_is_refused(place: Place, text: str) -> None:
    """The refusal names the parameter, a readable piece of the text and what is accepted."""
    place("Europe/Berlin")
    for parameter, read in (("since", when.since), ("until", when.until)):
        with pytest.raises(errors.UsageError) as caught:
            read(text)
        message = caught.value.message
        assert message.startswith(f"{parameter}: '")
        assert text.strip()[:10].isprintable() <= (text.strip()[:10] in message)
        assert "2026-03-29" in message
        assert "3d" in message
        assert len(message) < 400
        assert message.isprintable()
    with pytest.raises(errors.UsageError, match=r"\Aon: "):
        when.since(text, parameter="on")


def test_first_and_last_days_of_all(place: Place) -> None:
    """Near the ends of the calendar a day is right or refused as out of range, in every zone."""
    for zone in ZONES:
        place(zone)
        assert day("0001-01-03") < day("0001-01-04")
        assert day("9999-12-29") < day("9999-12-30")
        for text in ("0001-01-01", "9999-12-31"):
            with pytest.raises(errors.UsageError, match=f"{text}' is out of range"):
                day(text)


@given(
    st.text(max_size=40) | st.from_regex(r"[0-9]{1,14} ?(d|w|mo|y|h|m|days ago)", fullmatch=True)
)
def test_any_text_is_a_time_or_a_refusal(text: str) -> None:
    """No text gets anything but a stored form or a UsageError, and since is never after until."""
    try:
        first, last = day(text)
    except errors.UsageError:
        return
    assert when.from_micros(when.to_micros(first)) == first
    assert first <= last or "0" in text  # the clock runs on between the two


@given(st.dates(date(1900, 1, 1), date(9999, 12, 29)), st.sampled_from(ZONES))
def test_days_follow_each_other_without_gap(day_before: date, zone: str) -> None:
    """The instant after a day's end is the beginning of the next day, in every zone and year."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", zone)
        time.tzset()
        end = when.until(day_before.isoformat())
        start = when.since((day_before + timedelta(days=1)).isoformat())
    time.tzset()
    assert when.to_micros(end) + 1 == when.to_micros(start)


NOW = "2026-11-30T08:12:46.123456Z"


@pytest.mark.parametrize(
    ("then", "words"),
    [
        (NOW, "just now"),
        ("2026-11-30T08:11:50.000000Z", "just now"),
        ("2026-11-30T08:07:46.000000Z", "5 min ago"),
        ("2026-11-30T07:12:47.000000Z", "59 min ago"),
        ("2026-11-30T05:00:00.000000Z", "3 h ago"),
        ("2026-11-29T21:00:00.000000Z", "11 h ago"),
        ("2026-11-29T12:00:00.000000Z", "yesterday"),
        ("2026-11-28T23:00:00.000000Z", "yesterday"),
        ("2026-11-28T22:59:00.000000Z", "2 days ago"),
        ("2026-11-26T08:00:00.000000Z", "4 days ago"),
        ("2026-11-17T08:00:00.000000Z", "13 days ago"),
        ("2026-11-09T08:00:00.000000Z", "3 weeks ago"),
        ("2026-10-06T08:00:00.000000Z", "7 weeks ago"),
        ("2026-10-04T22:30:00.000000Z", "2026-10-05"),
        ("2026-03-29T12:00:00.000000Z", "2026-03-29"),
        ("2026-11-30T08:12:50.000000Z", "just now"),
        ("2026-11-30T08:20:00.000000Z", "in 7 min"),
        ("2026-11-30T11:20:00.000000Z", "in 3 h"),
        ("2026-12-01T21:20:00.000000Z", "tomorrow"),
        ("2026-12-04T08:20:00.000000Z", "in 4 days"),
        ("2026-12-24T08:20:00.000000Z", "in 3 weeks"),
        ("2027-03-29T08:20:00.000000Z", "2027-03-29"),
        ("0001-01-01T00:00:00.000000Z", "0001-01-01"),
        ("9999-12-31T23:59:59.999999Z", "9999-12-31"),
    ],
)
def test_ages_in_words(place: Place, then: str, words: str) -> None:
    """An age is said as a person would, with days and dates as in the caller's zone."""
    place("Europe/Berlin")
    assert when.age(then, NOW) == words


@given(MICROS, MICROS)
def test_every_time_has_an_age_and_a_local_form(a: int, b: int) -> None:
    """No stored time is too far away to be shown."""
    assert when.age(when.from_micros(a), when.from_micros(b))
    assert when.local(when.from_micros(a))[19] == " "


def test_local_time_has_an_offset(place: Place) -> None:
    """A time for people is date, time and offset in their zone, and can be typed back."""
    for zone, shown in (
        ("Europe/Berlin", "2026-11-30 09:12:46 +01:00"),
        ("America/New_York", "2026-11-30 03:12:46 -05:00"),
        ("Australia/Lord_Howe", "2026-11-30 19:12:46 +11:00"),
    ):
        place(zone)
        assert when.local(NOW) == shown
        assert when.since(shown) == "2026-11-30T08:12:46.000000Z"
