"""Named tuples without `typing`, for what every command needs.

Importing `typing` takes the half of a bare interpreter's time (it brings `re`, `functools` and
`contextlib`), and each class of `typing.NamedTuple` a hundredth, because it evaluates source text.
Here a class takes a fifth of that. A room that writes `from __future__ import annotations` and
takes both names from here needs no `typing`: its annotations are never evaluated.

To a type checker this is `typing.NamedTuple`, and it behaves like it: a test compares.
"""
# ruff: noqa: ANN001, ANN002, ANN003, ANN202, ANN204 - no type checker sees the lower half

from __future__ import annotations

TYPE_CHECKING = False  # by its name, type checkers take it for true

if TYPE_CHECKING:
    from typing import NamedTuple as NamedTuple  # noqa: PLC0414 - for others to import
else:
    try:
        from _collections import _tuplegetter  # what `collections.namedtuple` uses, if it is there
    except ImportError:
        from operator import itemgetter

        def _tuplegetter(index: int, doc: str) -> property:
            """Return what reads the element at `index`."""
            return property(itemgetter(index), doc=doc)

    def _new(cls, /, *values, **named):
        missing = len(cls._fields) - len(values)
        if named or missing:
            if named or not 0 < missing <= len(cls._last):
                values = _completed(cls, values, named)
            else:
                values += cls._last[-missing:]
        return tuple.__new__(cls, values)

    def _completed(cls, values, named):
        """Return the values in the order of the fields, with defaults; raises TypeError."""
        fields, defaults = cls._fields, cls._field_defaults
        if len(values) > len(fields):
            raise TypeError(f"{cls.__name__} has {len(fields)} fields, not {len(values)}")
        complete = list(values)
        for field in fields[len(values) :]:
            if field in named:
                complete.append(named.pop(field))
            elif field in defaults:
                complete.append(defaults[field])
            else:
                raise TypeError(f"{cls.__name__} needs a value for '{field}'")
        for field in named:
            what = "two values for" if field in fields else "no field"
            raise TypeError(f"{cls.__name__} has {what} '{field}'")
        return complete

    def _make(cls, values):
        """Make one of an iterable of all its values."""
        made = tuple.__new__(cls, values)
        if len(made) != len(cls._fields):
            raise TypeError(f"{cls.__name__} has {len(cls._fields)} fields, not {len(made)}")
        return made

    def _replace(self, /, **changed):
        """Return a copy with other values in some fields; raises ValueError for no field."""
        made = self._make(map(changed.pop, self._fields, self))
        if changed:
            raise ValueError(f"{type(self).__name__} has no fields {list(changed)}")
        return made

    def _asdict(self):
        """Return the values by the names of their fields."""
        return dict(zip(self._fields, self, strict=True))

    def _repr(self):
        pairs = zip(self._fields, self, strict=True)
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in pairs)})"

    def _getnewargs(self):
        return tuple(self)

    _METHODS = {
        "__slots__": (),
        "__new__": _new,
        "_make": classmethod(_make),
        "_replace": _replace,
        "_asdict": _asdict,
        "__repr__": _repr,
        "__getnewargs__": _getnewargs,
    }

    class _Made(type):
        """Makes of a class body with annotated names a named tuple."""

        def __new__(cls, name, _bases, body):
            """Return the named tuple; what else is in the body becomes part of it."""
            fields = tuple(body.get("__annotations__", ()))
            defaults = {field: body.pop(field) for field in fields if field in body}
            if tuple(defaults) != fields[len(fields) - len(defaults) :]:
                raise TypeError(f"{name}: a field without a default follows one that has one")
            getters = {
                field: _tuplegetter(index, f"Field {index}") for index, field in enumerate(fields)
            }
            own = {"_fields": fields, "_field_defaults": defaults, "__match_args__": fields}
            own["_last"] = tuple(defaults.values())
            return type(name, (tuple,), {**_METHODS, **getters, **own, **body})

    NamedTuple = type.__new__(_Made, "NamedTuple", (), {})
