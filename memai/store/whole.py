"""All that the SQLite engine does, in one class.

`spaces` looks after vectors; `exchange` takes and gives many memories at once; `checks`,
`erasing`, `surroundings`, `upkeep` and `recovering` look after the whole, `others` reads stores
that are not this one.
"""

from __future__ import annotations

from memai.lean import TYPE_CHECKING
from memai.store.exchange import Exchange
from memai.store.finding import FindingStore
from memai.store.keeping import KeepingStore
from memai.store.others import Others
from memai.store.spaces import Spaces
from memai.store.surroundings import Surroundings

if TYPE_CHECKING:
    from memai.store import Store


class WholeStore(Others, Surroundings, Exchange, Spaces, FindingStore, KeepingStore):
    """A store that has every method of the protocol."""


if TYPE_CHECKING:
    _: type[Store] = WholeStore
