"""Named tuples for what every command needs, without `typing`.

Importing `typing` takes as long as 60 % of a bare interpreter (it brings `re`, `functools` and
`contextlib`); `collections` comes with apsw anyway. A room that writes `from __future__ import
annotations` and takes both names from here needs no `typing`: its annotations are never evaluated.
To a type checker this is `typing.NamedTuple`.
"""

TYPE_CHECKING = False  # by its name, type checkers take it for true

if TYPE_CHECKING:
    from typing import NamedTuple as NamedTuple  # noqa: PLC0414 - for others to import
else:
    from collections import namedtuple

    class _Made(type):
        """Makes of a class body with annotated names a named tuple."""

        def __new__(cls, name: str, _bases: tuple[type, ...], body: dict[str, object]) -> type:
            """Return the named tuple; what else is in the body becomes part of it."""
            fields = body.get("__annotations__", {})
            given = [field for field in fields if field in body]
            if given != list(fields)[len(fields) - len(given) :]:
                raise TypeError(f"{name}: a field without a default follows one that has one")
            made = namedtuple(  # noqa: PYI024 - that is what this room is for
                name,
                fields,
                defaults=[body.pop(field) for field in given],
                module=body.pop("__module__"),
            )
            for key, value in body.items():
                setattr(made, key, value)
            return made

    NamedTuple = type.__new__(_Made, "NamedTuple", (), {})
