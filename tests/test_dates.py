"""The days that questions name."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memai import dates

WRITTEN = ["%Y-%m-%d", "%Y/%m/%d", "%d %B %Y", "%B %d, %Y", "%b %d %Y", "%dth of %B, %Y"]


@given(st.dates(date(1000, 1, 1)), st.sampled_from(WRITTEN))
def test_a_day_is_found_however_it_is_written(day: date, form: str) -> None:
    """Any day of the calendar, within a question."""
    text = f"What did we do on {day.strftime(form)}?"
    assert dates.named(text) == (day.isoformat(), day.isoformat())


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("the outage of february 2024", ("2024-02-01", "2024-02-29")),
        ("who spoke in Sept. 2023, and of what", None),
        ("who spoke in Sep. 2023, and of what", ("2023-09-01", "2023-09-30")),
        ("between May 2023 and 3 June 2023", ("2023-06-03", "2023-06-03")),
        ("on 31 June 2023", ("2023-06-01", "2023-06-30")),
        ("on 2023-13-01", None),
        ("version 1.2023-01-02", None),
        ("build-2023-01-02-rc1", None),
        ("what may happen in 2023", None),
        ("the first of March", None),
    ],
)
def test_what_is_a_date(text: str, span: tuple[str, str] | None) -> None:
    """A month with its year, but no number that merely looks like a date, nor a month alone."""
    assert dates.named(text) == span


@given(st.text())
def test_any_text_may_be_asked(text: str) -> None:
    """No text fails, and what is named begins before it ends."""
    span = dates.named(text)
    assert span is None or span[0] <= span[1]


def test_a_month_has_a_capital() -> None:
    """`may` and `march` are words."""
    assert dates.names_month("what did Ann say in March?")
    assert not dates.names_month("we may march on")
