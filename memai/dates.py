"""The day or month that a text names: English names of months, and ISO 8601."""

from __future__ import annotations

import re

_MONTHS = (
    "january february march april may june july august september october november december".split()
)
_MONTH = "(" + "|".join(f"{name}|{name[:3]}" for name in _MONTHS) + r")\.?"
_DAY = r"(\d{1,2})(?:st|nd|rd|th)?"
# Each with the places of year, month and day among its groups. A month without a year is left
# alone: "may" and "march" are words, and every year has one.
_FORMS = (
    (r"(\d{4})[-/](\d\d)[-/](\d\d)", (1, 2, 3)),
    (rf"{_DAY} (?:of )?{_MONTH},? (\d{{4}})", (3, 2, 1)),
    (rf"{_MONTH} {_DAY},? (\d{{4}})", (3, 1, 2)),
    (rf"{_MONTH},? (\d{{4}})", (2, 1, 0)),
)


def named(text: str) -> tuple[str, str] | None:
    """Return the first and the last day (`2026-03-29`) of what a text names, if it names any.

    A day goes before a month. Of a day that the calendar has not, like 31 June, the month is left.
    """
    if not re.search(r"\d{4}", text):
        return None  # before the other patterns are compiled
    folded = text.casefold()
    for form, (year, month, day) in _FORMS:
        found = re.search(rf"(?<![\w.-]){form}(?![\w-])", folded, re.ASCII)
        if found:
            span = _span(int(found[year]), _month(found[month]), int(found[day]) if day else 0)
            if span:
                return span
    return None


def names_month(text: str) -> bool:
    """Whether a text names a month: in full and with a capital, as "may" and "march" are words."""
    return any(word in _MONTHS for word in map(str.lower, re.findall(r"\b[A-Z][a-z]+\b", text)))


def _month(written: str) -> int:
    if written.isdigit():
        return int(written)
    return 1 + next(n for n, name in enumerate(_MONTHS) if name.startswith(written))


def _span(year: int, month: int, day: int) -> tuple[str, str] | None:
    """Return the ends of a day, or of a month if the day is 0; None if there is no such."""
    from calendar import monthrange

    if year < 1 or not 1 <= month <= 12 or day > (length := monthrange(year, month)[1]):
        return None
    begun = f"{year:04}-{month:02}-"
    return f"{begun}{day or 1:02}", f"{begun}{day or length:02}"
