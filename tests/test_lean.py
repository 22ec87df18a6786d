"""The named tuples of memai are those of `typing`, made faster."""

import copy
import importlib.util
import pickle
import sys
import types
import typing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memai import lean


class Ours(lean.NamedTuple):
    """A record."""

    first: int
    second: str
    third: float = 0.5
    fourth: tuple[str, ...] = ()

    @property
    def both(self):
        """Two of the fields."""
        return self.first, self.second

    def doubled(self, times=2):
        """Return a field times two."""
        return self.first * times


class Theirs(typing.NamedTuple):
    """A record."""

    first: int
    second: str
    third: float = 0.5
    fourth: tuple[str, ...] = ()

    @property
    def both(self):
        """Two of the fields."""
        return self.first, self.second

    def doubled(self, times=2):
        """Return a field times two."""
        return self.first * times


FIELDS = ["first", "second", "third", "fourth"]
values = st.integers() | st.text(max_size=3) | st.none()
arguments = st.tuples(
    st.lists(values, max_size=5), st.dictionaries(st.sampled_from([*FIELDS, "fifth"]), values)
)


def attempt(act):
    """Return what an act gives, or the kind of error it raises."""
    try:
        return act()
    except (TypeError, ValueError) as error:
        return type(error)


def same(ours, theirs):
    """Whether both are the same error, or records with the same contents."""
    if isinstance(ours, type) or isinstance(theirs, type):
        return ours is theirs
    return tuple(ours) == tuple(theirs) and repr(ours).replace("Ours", "Theirs") == repr(theirs)


@given(given_arguments=arguments)
def test_making_one(given_arguments):
    """Values by place and by name, too few, too many, twice and unknown: the same comes of it."""
    positional, named = given_arguments
    assert same(
        attempt(lambda: Ours(*positional, **named)), attempt(lambda: Theirs(*positional, **named))
    )


@given(positional=st.lists(values, max_size=6))
def test_making_one_of_an_iterable(positional):
    """_make takes all values, no more and no less."""
    ours = attempt(lambda: Ours._make(iter(positional)))
    assert same(ours, attempt(lambda: Theirs._make(iter(positional))))


@given(changed=st.dictionaries(st.sampled_from([*FIELDS, "fifth"]), values))
def test_replacing(changed):
    """_replace changes the fields it names and raises ValueError for others."""
    ours, theirs = Ours(1, "a"), Theirs(1, "a")
    assert same(
        attempt(lambda: ours._replace(**changed)), attempt(lambda: theirs._replace(**changed))
    )
    assert tuple(ours) == tuple(theirs) == (1, "a", 0.5, ())


def test_what_else_a_record_can():
    """Fields, methods, comparison, patterns, copies and pickles are those of a named tuple."""
    ours, theirs = Ours(1, "a"), Theirs(1, "a")
    for name in ("_fields", "_field_defaults", "__match_args__", "__doc__", "__slots__"):
        assert getattr(Ours, name, None) == getattr(Theirs, name, None), name
    assert Ours.__annotations__ == Theirs.__annotations__
    assert typing.get_type_hints(Ours) == typing.get_type_hints(Theirs)
    assert (ours.first, ours.fourth, ours.both) == (theirs.first, theirs.fourth, theirs.both)
    assert ours.doubled(3) == 3
    assert ours._asdict() == theirs._asdict()
    assert ours == (1, "a", 0.5, ())
    assert hash(ours) == hash(theirs)
    assert ours < Ours(2, "a")
    assert pickle.loads(pickle.dumps(ours)) == ours == copy.copy(ours)
    assert type(copy.deepcopy(ours)) is Ours
    with pytest.raises(AttributeError):
        ours.first = 2
    with pytest.raises(AttributeError):
        ours.fifth = 2
    match ours:
        case Ours(first, second=second):
            assert (first, second) == (1, "a")


def test_defaults_come_last():
    """A field without a default cannot follow one that has one."""
    with pytest.raises(TypeError, match="default"):

        class Wrong(lean.NamedTuple):
            first: int = 1
            second: int


def test_without_the_private_part(monkeypatch):
    """Where the interpreter has no ready-made getter, a property does the same."""
    monkeypatch.setitem(sys.modules, "_collections", types.ModuleType("_collections"))
    spec = importlib.util.spec_from_file_location("plain_lean", lean.__file__)
    plain = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(plain)

    class Plain(plain.NamedTuple):
        first: int
        second: int = 2

    assert type(vars(Plain)["first"]) is property
    assert (Plain(1).first, Plain(1).second, repr(Plain(1))) == (1, 2, "Plain(first=1, second=2)")
