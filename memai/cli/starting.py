"""How `serve-mcp` starts, however its line was taken apart."""

from __future__ import annotations

import gc
import sys

from memai.lean import TYPE_CHECKING
from memai.settings import resolve

if TYPE_CHECKING:
    from typing import Any

    from memai.cli.choices import Choices


def serve(choices: Choices, *, allow_host: tuple[str, ...], **options: Any) -> int:
    """Serve until the client goes, or with --http until a signal comes."""
    from memai.cli import output
    from memai.mcp import serve  # faces do not know each other, but for this late import

    if options["http"] is None and output.is_terminal(sys.stdin):
        output.remark("This speaks MCP to a client, not to a person; 'memai setup' sets one up.")
    gc.enable()
    settings = resolve(choices.db, allow_network_fs=choices.allow_network_fs)
    return serve(settings, allow_hosts=allow_host, **options)
