"""The SDK, loaded without what a server over pipes does not need.

`import mcp` builds clients, web servers and 200 pydantic models before it returns: 600 ms. With
empty packages in place of those that only re-export, and models built when they are first used, it
takes 350. That leans on the layout of the SDK: where it does not fit, the plain import does the
same.
"""

import gc
import logging
import os
import sys
import types
from typing import Any, NamedTuple

# Packages whose __init__ only gathers names from modules that we do not need.
_EMPTY = (
    "mcp",
    "mcp.server",
    "mcp.server.lowlevel",
    "mcp.server.auth",
    "mcp.server.auth.middleware",
)


class Sdk(NamedTuple):
    """What is used of the SDK.

    The server's class, the envelope of a message, the parser of a decoded line, the error that
    becomes one of the protocol, and how long a client may keep an answer.
    """

    server: Any
    session_message: Any
    parse: Any
    error: Any
    cache_hint: Any


def load(*, light: bool = True) -> Sdk:
    """Import the SDK; `light` tries the short way first."""
    if not os.environ.get("MEMAI_DEBUG"):
        # Its tracebacks hold what clients sent; what they must know they are told.
        logging.getLogger("mcp").setLevel(logging.CRITICAL + 1)
    collecting = gc.isenabled()
    gc.disable()  # nothing of what an import makes is garbage
    try:
        if light and "mcp" not in sys.modules:
            try:
                return _light()
            except Exception:  # noqa: BLE001 - any other layout of the SDK may raise anything
                for name in list(sys.modules):
                    if name.partition(".")[0] in ("mcp", "mcp_types"):
                        del sys.modules[name]
        return _names()
    finally:
        gc.freeze()  # nor later: looking through all of it takes 30 ms
        if collecting:
            gc.enable()


def _light() -> Sdk:
    """Import with empty packages and with models that are built on first use."""
    import importlib.machinery

    import pydantic

    spec = importlib.machinery.PathFinder.find_spec("mcp")
    if spec is None or not spec.submodule_search_locations:
        raise ImportError("mcp")
    root = next(iter(spec.submodule_search_locations))
    for name in _EMPTY:
        package = types.ModuleType(name)
        package.__path__ = [root + name.removeprefix("mcp").replace(".", "/")]
        sys.modules[name] = package
    config = pydantic.BaseModel.model_config
    before = config.get("defer_build", False)
    config["defer_build"] = True
    try:
        return _names()
    finally:
        config["defer_build"] = before


def _names() -> Sdk:
    from mcp.server.caching import CacheHint
    from mcp.server.lowlevel.server import Server
    from mcp.shared.exceptions import MCPError
    from mcp.shared.message import SessionMessage
    from mcp_types import jsonrpc_message_adapter

    parse = jsonrpc_message_adapter.validate_python
    return Sdk(Server, SessionMessage, parse, MCPError, CacheHint)
