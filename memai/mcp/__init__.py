"""The MCP face: every operation as a tool, over stdio or streamable HTTP.

The SDK is a dependency of the same name and takes most of the start-up time; only `serve` loads it.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from memai.errors import UsageError
from memai.settings import Settings

__all__ = ["Profile", "serve"]


class Profile(NamedTuple):
    """The options of a server.

    `tools` says what is listed: what an agent needs every day, or everything. An operation that is
    not listed works when it is called. `prefix` is for hosts where names of servers clash.
    """

    tools: Literal["daily", "all"] = "daily"
    prefix: str = ""
    read_only: bool = False
    allow_purge: bool = False


def serve(
    settings: Settings,
    *,
    tools: Literal["daily", "all"] = "daily",
    prefix: str = "",
    read_only: bool = False,
    allow_purge: bool = False,
    http: str | None = None,
    allow_hosts: Sequence[str] = (),
) -> int:
    """Serve one client over standard input and output until it leaves, with its exit code.

    From here on standard output carries the protocol and nothing else. With `http`, [HOST][:PORT],
    it serves any number of clients there until a signal comes; `allow_hosts` are further names by
    which they may address it, needed where others than this machine can reach it.

    The process ends in here: a call that is still running after the grace period must not hold it.
    Raises UsageError for a prefix or an address that cannot be meant, Refused, NotWritable.
    """
    profile = Profile(tools, checked_prefix(prefix), read_only, allow_purge)
    if http is not None:
        from memai.mcp import web

        return web.run(settings, profile, http, allow_hosts)
    from memai.mcp import stdio

    return stdio.run(settings, profile)


def checked_prefix(prefix: str) -> str:
    """Return a prefix that tools can have in every client; raises UsageError."""
    if prefix and not (prefix.isascii() and prefix.replace("_", "").isalnum() and len(prefix) < 25):
        raise UsageError(
            reason=f"The prefix '{prefix[:60]}' is not one: letters, digits and _, at most 24."
        )
    return prefix
