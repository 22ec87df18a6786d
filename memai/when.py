"""Times: one stored form, what people type instead of it, and how long ago it was.

The stored form is UTC with microseconds, `2026-11-30T08:12:46.123456Z`: always 27 characters, so
that texts sort as times do. What is typed or shown is in the zone of the caller (`TZ`, else the
system's). A local time that a change of clocks leaves out is moved forward by what was left out;
one that happens twice means the first.

`datetime` and `re` are imported where they are used: most commands only show times and read now().
"""

from __future__ import annotations

import time

from memai import errors
from memai.lean import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

ACCEPTED = (
    "2026-03-29, 2026-03-29T14:30 (with Z or +02:00 for another zone), now, today, yesterday, "
    "monday to sunday, 'last week', 'last month', or how long ago: 90min, 12h, 3d, 2w, 6mo, 1y, "
    "'3 days ago'"
)

_ISO = (
    r"(\d{4})-(\d\d)-(\d\d)"
    r"(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,6})\d*)?)?(?: ?(Z|[+-]\d\d(?::?\d\d)?))?)?"
)
_AGO = r"(\d+) ?([a-z]+?)s?(?: ago)?"
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")

_MINUTE = 60 * 1_000_000
_HOUR = 60 * _MINUTE
_LAST = 253_402_300_800_000_000 - 1  # 9999-12-31T23:59:59.999999Z
# Exact lengths of time in microseconds, and calendar units as (months, days).
_EXACT = dict.fromkeys(("m", "min", "minute"), _MINUTE) | dict.fromkeys(("h", "hour"), _HOUR)
_CALENDAR = (
    dict.fromkeys(("d", "day"), (0, 1))
    | dict.fromkeys(("w", "week"), (0, 7))
    | dict.fromkeys(("mo", "month"), (1, 0))
    | dict.fromkeys(("y", "year"), (12, 0))
)


def clock() -> int:
    """Microseconds since 1970 in UTC: the only place where memai reads the clock."""
    return time.time_ns() // 1000


def now() -> str:
    """Read the clock, in the stored form."""
    seconds, micros = divmod(clock(), 1_000_000)
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(seconds))}.{micros:06}Z"


def after(iso: str) -> str:
    """Read the clock, in the stored form; where it is not past `iso`, the next moment after that.

    What follows something is later than that also where a clock was set back. There is no moment
    after the last of the year 9999.
    """
    read = now()
    return read if read > iso else from_micros(min(to_micros(iso) + 1, _LAST))


def to_micros(iso: str) -> int:
    """Turn the stored form into microseconds since 1970; ValueError for any other form.

    Without `datetime`, as is `from_micros`: the import takes longer than hundreds of these.
    """
    hour, minute, second, micros = (
        int(iso[11:13]),
        int(iso[14:16]),
        int(iso[17:19]),
        int(iso[20:26]),
    )
    if (
        f"T{hour:02}:{minute:02}:{second:02}.{micros:06}Z" != iso[10:]
        or not 0 <= hour < 24
        or not 0 <= minute < 60
        or not 0 <= second < 60
        or micros < 0
    ):
        raise ValueError(f"not in the stored form: {iso!r}")
    return _midnight(iso[:10]) + 1_000_000 * (3600 * hour + 60 * minute + second) + micros


def _midnight(day: str) -> int:
    """Turn a day of the stored form into microseconds since 1970; ValueError for any other form."""
    known = _midnights.get(day)
    if known is not None:
        return known
    year, month, of_month = int(day[:4]), int(day[5:7]), int(day[8:10])
    # Years that begin in March end with the leap day; 400 of them have 146,097 days, always
    # (https://howardhinnant.github.io/date_algorithms.html#days_from_civil).
    cycle, of_cycle = divmod(year - (month < 3), 400)
    of_year = (153 * ((month - 3) % 12) + 2) // 5 + of_month - 1
    days = 146_097 * cycle + 365 * of_cycle + of_cycle // 4 - of_cycle // 100 + of_year - 719_468
    micros = 24 * _HOUR * days
    try:
        if from_micros(micros)[:10] == day:
            if len(_midnights) >= _MOST_DAYS:
                _midnights.clear()
            _midnights[day] = micros
            return micros
    except OverflowError:  # a day too many at the end of the calendar
        pass
    raise ValueError(f"not in the stored form: {day!r}")


_midnights: dict[str, int] = {}  # memories of one day come together: half of the time
_MOST_DAYS = 5_000


def from_micros(micros: int) -> str:
    """Turn microseconds since 1970 into the stored form; OverflowError past the years 1 to 9999."""
    seconds, rest = divmod(micros, 1_000_000)
    try:
        year, month, day, hour, minute, second = time.gmtime(seconds)[:6]
    except (OSError, ValueError) as error:
        raise OverflowError(str(error)) from None
    if not 1 <= year <= 9999:
        raise OverflowError(f"year {year}")
    return f"{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{rest:06d}Z"


def since(text: str, *, parameter: str = "since") -> str:
    """Find the first instant that `text` means, in the stored form; a day means its start.

    Raises UsageError, which names `parameter`, the text and what is accepted.
    """
    return _instants(text, parameter)[0]


def until(text: str, *, parameter: str = "until") -> str:
    """Find the last instant that `text` means, in the stored form; a day means its end.

    Raises UsageError, which names `parameter`, the text and what is accepted.
    """
    return _instants(text, parameter)[1]


def age(iso: str, now_iso: str) -> str:
    """Say how long ago a stored time was; days are counted in the caller's zone.

    From eight weeks on (either way) it is the local date.
    """
    micros, present = to_micros(iso), to_micros(now_iso)
    passed = abs(present - micros)
    then = _local(micros).date()
    days = abs((_local(present).date() - then).days)
    if passed < _MINUTE:
        return "just now"
    if days >= 56:
        return then.isoformat()
    if passed < _HOUR:
        length = f"{passed // _MINUTE} min"
    elif days == 0 or passed < 12 * _HOUR:
        length = f"{passed // _HOUR} h"
    elif days == 1:
        return "tomorrow" if micros > present else "yesterday"
    else:
        length = f"{days} days" if days < 14 else f"{days // 7} weeks"
    return f"in {length}" if micros > present else f"{length} ago"


def local(iso: str) -> str:
    """Show a stored time as `2026-03-29 14:30:05 +02:00`, in the caller's zone."""
    shown = _local(to_micros(iso)).isoformat(" ", "seconds")
    return f"{shown[:19]} {shown[19:]}"


def _instants(text: str, parameter: str) -> tuple[str, str]:
    """Find the first and the last instant that a text means."""
    typed = " ".join(text.split())
    words = typed.lower()
    shown = repr(typed if len(typed) <= 40 else typed[:39] + "…")
    try:
        found = _iso(words) or _named(words) or _ago(words)
    except (ValueError, OverflowError, OSError) as error:
        # OverflowError and OSError: a date that the calendar or the C library does not reach.
        why = "no such date or time" if type(error) is ValueError else "out of range"
        raise errors.UsageError(
            reason=f"{parameter}: {shown} is {why}. Accepted: {ACCEPTED}."
        ) from None
    if found is None:
        raise errors.UsageError(
            reason=f"{parameter}: {shown} is not understood as a time. Accepted: {ACCEPTED}."
        )
    first, last = found
    return _stored(first), _stored(last)


def _iso(words: str) -> tuple[datetime, datetime] | None:
    import re
    from datetime import UTC, datetime, timedelta

    match = re.fullmatch(_ISO, words, re.ASCII | re.IGNORECASE)
    if not match:
        return None
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    wall = datetime(int(year), int(month), int(day))  # noqa: DTZ001 - the caller's wall clock
    if hour is None:
        return _days(wall, 1)
    wall = wall.replace(
        hour=int(hour),
        minute=int(minute),
        second=int(second or 0),
        microsecond=int((fraction or "").ljust(6, "0")),
    )
    if zone is None:
        instant = _utc(wall)
    elif zone == "z":
        instant = wall.replace(tzinfo=UTC)
    else:
        sign = -1 if zone[0] == "-" else 1
        digits = zone[1:].replace(":", "").ljust(4, "0")
        hours, minutes = int(digits[:2]), int(digits[2:])
        if hours > 23 or minutes > 59:
            raise ValueError(zone)
        offset = timedelta(hours=hours, minutes=minutes)
        instant = wall.replace(tzinfo=UTC) - sign * offset
    return instant, instant


def _named(words: str) -> tuple[datetime, datetime] | None:
    from datetime import timedelta

    present = _at(clock())
    if words == "now":
        return present, present
    midnight = _wall(present).replace(hour=0, minute=0, second=0, microsecond=0)
    if words in ("today", "yesterday"):
        return _days(midnight - timedelta(days=words == "yesterday"), 1)
    if words in _WEEKDAYS:
        back = (midnight.weekday() - _WEEKDAYS.index(words)) % 7
        return _days(midnight - timedelta(days=back), 1)
    if words == "last week":  # Monday to Sunday, as ISO 8601 counts weeks
        return _days(midnight - timedelta(days=midnight.weekday() + 7), 7)
    if words == "last month":
        ends = midnight.replace(day=1)
        starts = _months_before(ends, 1)
        return _days(starts, (ends - starts).days)
    return None


def _ago(words: str) -> tuple[datetime, datetime] | None:
    import re
    from datetime import timedelta

    match = re.fullmatch(_AGO, words, re.ASCII)
    if not match or match[2] not in _EXACT | _CALENDAR:
        return None
    if len(match[1]) > 12:  # int() of thousands of digits is slow and refused
        raise OverflowError(match[1])
    amount = int(match[1])
    present = _at(clock())
    if match[2] in _EXACT:
        instant = present - timedelta(microseconds=amount * _EXACT[match[2]])
    else:
        months, days = _CALENDAR[match[2]]
        wall = _months_before(_wall(present), amount * months)
        instant = _utc(wall - timedelta(days=amount * days))
    return instant, instant


def _days(midnight: datetime, days: int) -> tuple[datetime, datetime]:
    """Find the first and last instants of so many local days."""
    from datetime import timedelta

    return _utc(midnight), _utc(midnight + timedelta(days=days)) - timedelta(microseconds=1)


def _months_before(wall: datetime, months: int) -> datetime:
    """Go back so many months; a day that the month does not have becomes its last."""
    import calendar

    index = wall.year * 12 + wall.month - 1 - months
    year, month = index // 12, index % 12 + 1
    if year < 1:
        raise OverflowError(months)
    day = min(wall.day, calendar.monthrange(year, month)[1])
    return wall.replace(year=year, month=month, day=day)


def _at(micros: int) -> datetime:
    from datetime import UTC, datetime, timedelta

    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)


def _local(micros: int) -> datetime:
    try:
        return _at(micros).astimezone()
    except OverflowError:  # the first or last day of all has no local form in some zones
        return _at(micros)


def _wall(instant: datetime) -> datetime:
    return instant.astimezone().replace(tzinfo=None)


def _utc(wall: datetime) -> datetime:
    """Find the instant of a time on the wall clock.

    timestamp() and not astimezone(): the latter gives a time that the clocks leave out the offset
    from after the change, which moves it backward.
    """
    try:
        seconds = int(wall.replace(microsecond=0, fold=0).timestamp())
    except ValueError as error:  # it looks a day further on either side
        raise OverflowError(str(error)) from None
    return _at(seconds * 1_000_000 + wall.microsecond)


def _stored(instant: datetime) -> str:
    return instant.replace(tzinfo=None).isoformat("T", "microseconds") + "Z"
