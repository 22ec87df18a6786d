"""The signatures of all operations written out as a module, for the quick parser."""

from memai.operations import OPERATIONS
from memai.signatures import read

PATH = "memai/cli/known.py"
_HEAD = '''\
"""The operations as `memai.signatures` reads them; `python -m memai.documents` writes it."""
# ruff: noqa: E501, Q000
# fmt: off

from __future__ import annotations

from memai.lean import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

# Name: summary, body, and the fields of each parameter, those of its Param last.
SIGNATURES: dict[str, tuple[str, str, tuple[tuple[Any, ...], ...]]] = {
'''


def known() -> str:
    """Return the text of the module."""
    lines = []
    for op in OPERATIONS:
        signature = read(op.function)
        lines += [f"    {op.name!r}: (", f"        {signature.summary!r},"]
        lines += [f"        {signature.body!r},", "        ("]
        lines += [f"            {(*p[:-1], tuple(p.param))!r}," for p in signature.parameters]
        lines += ["        ),", "    ),"]
    return _HEAD + "\n".join(lines) + "\n}\n"
