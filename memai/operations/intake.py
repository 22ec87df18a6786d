"""How a source is read to be kept: first all of it to check it, or leniently what can be read.

Of a large file of memai's own lines a second process reads every second part when it is checked,
and all of it, a part ahead, when it is kept.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from memai.errors import MemaiError, SecretFound, UsageError
from memai.formats import Incoming, own
from memai.helper import Helper
from memai.operations.importing import Read
from memai.operations.preparing import Preparing
from memai.operations.sources import Source, first_only
from memai.operations.tally import Policy, Tally, checked
from memai.records import Relation
from memai.store import Store

# A source up to this size stays in memory, as memories about three times as large.
_SMALL_BYTES = 16_000_000
# Lines that are read together, and their bytes: a line may hold a megabyte.
_PART = 500
_PART_BYTES = 4_000_000

# Lines, the number of the first, what they are from, and what of them may be kept.
Part = tuple[Sequence[bytes], int, str, Policy]


def strictly(
    store: Store, source: Source, policy: Policy, preparing: Preparing, helper: Helper
) -> Read:
    """Read and check all of a source; return what gives it again, for it to be kept.

    What is small stays in memory, what is large is read twice. Raises Unreadable, SecretFound.
    """
    small = source.size <= _SMALL_BYTES
    if source.is_lines and not small:
        return _by_parts(store, source, policy, preparing, helper)
    stream = source.read(first_only(source.name))
    kept: list[Incoming | Relation] = []
    before = source.state()
    for item in preparing.watched(_heard(store, source, stream(), 0), source.size):
        sound = _sound(item, policy)
        if small:
            kept.append(sound)
    if small:
        return lambda: kept

    def again() -> Iterator[Incoming | Relation]:
        _refuse_changed(source, before)
        for item in _heard(store, source, stream(), 1):
            yield _sound(item, policy) if policy.redact else item

    return again


def leniently(
    store: Store, source: Source, policy: Policy, tally: Tally, preparing: Preparing
) -> Read:
    """Return what gives all that can be read and may be kept of a source, and lists the rest."""
    told: list[bool] = []

    def read() -> Iterator[Incoming | Relation]:
        # Asked for a second time it says nothing new of what cannot be read.
        broken = (lambda _place, _reason: None) if told else tally.fault
        told.append(True)
        stream: Iterator[Incoming | Relation] = _heard(store, source, source.read(broken)(), 1)
        if not policy.dry_run:
            stream = preparing.watched(stream, source.size)
        for item in stream:
            try:
                sound = checked(item, policy) if isinstance(item, Incoming) else item
            except MemaiError as error:
                broken(item.place if isinstance(item, Incoming) else "", error.message)
            else:
                yield sound

    return read


def _by_parts(
    store: Store, source: Source, policy: Policy, preparing: Preparing, helper: Helper
) -> Read:
    """Read and check a large file of lines as `strictly` does, with the second process."""
    before = source.state()
    helper.start()
    for part in islice(_parts(source, policy), 1):
        preparing.expect(_read(*part))
    for _ in helper.both(_check, _parts(source, policy)):
        _tell(store, source, 0)

    def again() -> Iterator[Incoming | Relation]:
        _refuse_changed(source, before)
        for items in helper.ahead(_read, _parts(source, policy)):
            _tell(store, source, 1)
            yield from items

    return again


def _parts(source: Source, policy: Policy) -> Iterator[Part]:
    """Cut the lines of a source into parts."""
    lines: list[bytes] = []
    first, room = 1, _PART_BYTES
    for line in source.lines():
        lines.append(line)
        room -= len(line)
        if len(lines) == _PART or room <= 0:
            yield lines, first, source.name, policy
            first += len(lines)
            lines, room = [], _PART_BYTES
    if lines:
        yield lines, first, source.name, policy


def _check(lines: Sequence[bytes], first: int, source: str, policy: Policy) -> bool:
    """Read and check a part; raises Unreadable, SecretFound."""
    for item in own.read(lines, first_only(source), first):
        _sound(item, policy)
    return True


def _read(
    lines: Sequence[bytes], first: int, source: str, policy: Policy
) -> list[Incoming | Relation]:
    """Read a part that was checked."""
    items = own.read(lines, first_only(source), first)
    return [_sound(item, policy) if policy.redact else item for item in items]


def _refuse_changed(source: Source, before: object) -> None:
    """Refuse to keep what is not what was checked."""
    if source.state() != before:
        raise UsageError(
            reason=f"{source.name} was changed while it was read. Nothing more was kept."
        )


def _heard(
    store: Store, source: Source, stream: Iterable[Incoming | Relation], passed: int
) -> Iterator[Incoming | Relation]:
    """Yield a stream and tell how far it is; a source is read once to check and once to keep."""
    for number, item in enumerate(stream):
        yield item
        if number % 100 == 0:
            _tell(store, source, passed)


def _tell(store: Store, source: Source, passed: int) -> None:
    """Tell how far a source is."""
    if store.caller.progress is not None:
        store.caller.progress(passed * source.size + source.at, 2 * source.size)


def _sound(item: Incoming | Relation, policy: Policy) -> Incoming | Relation:
    """Return what may be kept; raises SecretFound, which says where in the source it is."""
    if not isinstance(item, Incoming):
        return item
    try:
        return checked(item, policy)
    except SecretFound as found:
        what = f"{found.fields['what']} in {item.place}"
        hint = found.fields["hint"] + " --keep-going leaves it out."
        raise SecretFound(**{**found.fields, "what": what, "hint": hint}) from None
