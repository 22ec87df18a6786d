"""What crosses rooms: immutable records whose fields are the keys of every answer.

Times are ISO 8601 in UTC with microseconds, offsets count characters, sizes count bytes unless a
name says otherwise. Named tuples, not dataclasses: at start-up a class costs 0.03 ms instead of
0.8 ms. The records of answers are made when one is asked for, so that a command pays for its own.
"""

from __future__ import annotations

from memai.lean import TYPE_CHECKING
from memai.records.core import (
    Beginning as Beginning,
)
from memai.records.core import (
    Caller as Caller,
)
from memai.records.core import (
    Edit as Edit,
)
from memai.records.core import (
    Embedded as Embedded,
)
from memai.records.core import (
    Glance as Glance,
)
from memai.records.core import (
    Known as Known,
)
from memai.records.core import (
    Memory as Memory,
)
from memai.records.core import (
    Origin as Origin,
)
from memai.records.core import (
    Passage as Passage,
)
from memai.records.core import (
    Relation as Relation,
)
from memai.records.core import (
    Scored as Scored,
)
from memai.records.core import (
    Space as Space,
)
from memai.records.core import (
    Synced as Synced,
)
from memai.records.core import (
    Tombstone as Tombstone,
)
from memai.records.core import (
    Where as Where,
)
from memai.records.core import (
    to_json as to_json,
)

if TYPE_CHECKING:
    from typing import Any

    from memai.records.reading import Digest as Digest
    from memai.records.reading import DomainCount as DomainCount
    from memai.records.reading import Domains as Domains
    from memai.records.reading import Duplicates as Duplicates
    from memai.records.reading import Found as Found
    from memai.records.reading import Head as Head
    from memai.records.reading import Hit as Hit
    from memai.records.reading import LatestCheckpoint as LatestCheckpoint
    from memai.records.reading import Linked as Linked
    from memai.records.reading import Listed as Listed
    from memai.records.reading import Omitted as Omitted
    from memai.records.reading import Pair as Pair
    from memai.records.reading import Pulse as Pulse
    from memai.records.reading import Related as Related
    from memai.records.reading import Shown as Shown
    from memai.records.upkeep import BackedUp as BackedUp
    from memai.records.upkeep import Backup as Backup
    from memai.records.upkeep import Backups as Backups
    from memai.records.upkeep import Change as Change
    from memai.records.upkeep import Counts as Counts
    from memai.records.upkeep import Fault as Fault
    from memai.records.upkeep import Finding as Finding
    from memai.records.upkeep import Health as Health
    from memai.records.upkeep import Imported as Imported
    from memai.records.upkeep import Recovered as Recovered
    from memai.records.upkeep import Reembedded as Reembedded
    from memai.records.upkeep import Saved as Saved
    from memai.records.upkeep import Stats as Stats
    from memai.records.writing import Changed as Changed
    from memai.records.writing import Connected as Connected
    from memai.records.writing import FieldChange as FieldChange
    from memai.records.writing import History as History
    from memai.records.writing import Purged as Purged
    from memai.records.writing import Renamed as Renamed
    from memai.records.writing import Spelling as Spelling
    from memai.records.writing import Version as Version
    from memai.records.writing import Written as Written

_ROOMS = ("reading", "writing", "upkeep")


def __getattr__(name: str) -> Any:
    """Find a record in the room of its answers."""
    if not name.startswith("_"):
        for room in _ROOMS:
            # As importlib.import_module does, without importing it and `warnings`.
            found = getattr(__import__(f"memai.records.{room}", fromlist=(name,)), name, None)
            if found is not None:
                globals()[name] = found
                return found
    raise AttributeError(f"module 'memai.records' has no attribute '{name}'")
