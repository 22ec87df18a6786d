"""The MCP face: every operation as a tool, over stdio or streamable HTTP.

The SDK is a dependency of the same name and takes most of the start-up time; only `serve` loads it.
"""

from typing import Literal, NamedTuple

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
) -> int:
    """Serve one client over standard input and output until it leaves; return the exit code.

    From here on standard output carries the protocol and nothing else. The process ends in here:
    a call that is still running after the grace period must not hold it.
    """
    from memai.mcp import stdio

    return stdio.run(settings, Profile(tools, prefix, read_only, allow_purge))
