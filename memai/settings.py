"""Where the store is, which domain is at hand and who writes: one resolver for every face."""

from __future__ import annotations

import os

from memai.errors import UsageError
from memai.lean import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

STORE_NAME = "memai.db"

# Every environment variable memai reads, with its meaning; the manual is made from this.
ENVIRONMENT: tuple[tuple[str, str], ...] = (
    ("MEMAI_HOME", "Folder of the store and its backups; default ~/.memai."),
    ("MEMAI_DB", "The store itself, instead of memai.db in MEMAI_HOME; --db overrides both."),
    ("MEMAI_DOMAIN", "The domain at hand: default of writes and of pulse; '-' for none."),
    ("MEMAI_AGENT", "Who writes; default: the MCP client's name, or 'cli'."),
    ("MEMAI_SESSION", "The session writes belong to unless they say another."),
    ("MEMAI_EMBED_MODEL", "The embedding model of a store that is created now, and of reembed."),
    ("MEMAI_BUSY_SECONDS", "How long to wait for another writer; default 30."),
    ("MEMAI_ALLOW_NETWORK_FS", "1 allows a store on a network filesystem, used by one host."),
    ("MEMAI_PAGER", "The pager, before PAGER."),
    ("MEMAI_DEBUG", "1 shows the traceback of an unexpected error."),
    ("NO_COLOR", "Not empty: no colour. FORCE_COLOR: colour for people in pipes too."),
)


class Settings(NamedTuple):
    """What the environment and the options before the command say."""

    path: str
    home: str
    domain: str | None
    agent: str | None
    session: str | None
    model: str
    busy_seconds: float
    allow_network_fs: bool


def name_of(text: str | None) -> str | None:
    """Return a name from outside as one line of at most 200 characters, None if it is empty."""
    if not text:
        return None
    import re  # only where somebody has a name

    one_line = re.sub(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+", " ", text)
    return " ".join(one_line.split())[:200] or None


def expanded(path: str) -> str:
    """Expand `~` and variables in a path and make it absolute, without following links."""
    return os.path.abspath(os.path.expanduser(os.path.expandvars(path)))


def resolve(
    db: str | None = None,
    environ: Mapping[str, str] | None = None,
    *,
    allow_network_fs: bool = False,
) -> Settings:
    """Read the settings; `db` is what --db said.

    Raises UsageError where a variable holds what cannot be meant.
    """
    env = os.environ if environ is None else environ
    home = expanded(env.get("MEMAI_HOME") or "~/.memai")
    chosen = db if db is not None else env.get("MEMAI_DB") or os.path.join(home, STORE_NAME)
    if not chosen.strip() or "\0" in chosen:
        raise UsageError(reason="The path of the store (--db) is empty. Leave it out or name one.")
    domain = env.get("MEMAI_DOMAIN")
    if domain is not None and not domain.strip():
        raise UsageError(
            reason="MEMAI_DOMAIN is set but empty. Unset it, or use '-' for no domain."
        )
    busy = env.get("MEMAI_BUSY_SECONDS") or "30"
    try:
        busy_seconds = float(busy)
    except ValueError:
        busy_seconds = -1.0
    if not 0 <= busy_seconds <= 3600:
        raise UsageError(reason=f"MEMAI_BUSY_SECONDS is '{busy}': write seconds from 0 to 3600.")
    return Settings(
        path=expanded(chosen),
        home=home,
        domain=domain,
        agent=name_of(env.get("MEMAI_AGENT")),
        session=env.get("MEMAI_SESSION") or None,
        model=env.get("MEMAI_EMBED_MODEL") or "memai-static-1",
        busy_seconds=busy_seconds,
        allow_network_fs=allow_network_fs or env.get("MEMAI_ALLOW_NETWORK_FS") == "1",
    )
