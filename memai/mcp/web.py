"""Serving over streamable HTTP: one process for several clients, on this machine unless told more.

Every request shows a token in its header; a web page cannot (it does not know it), nor can another
user of the machine. Host and Origin are checked as well, so that a name which is pointed at this
machine by somebody else's DNS reaches nothing.
"""

import os
import signal
import socket
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, NoReturn

from memai.errors import NotWritable, Refused, UsageError
from memai.mcp import Profile
from memai.mcp.wire import MAX_LINE
from memai.settings import Settings

HOST, PORT = "127.0.0.1", 8474
PATH = "/mcp"
HEALTH = "/health"
TOKEN_NAME = "mcp-token"  # noqa: S105 - the name of a file
_TOKEN_BYTES = 32
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_GRACE = 4

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


def run(settings: Settings, profile: Profile, address: str, allow_hosts: Sequence[str]) -> NoReturn:
    """Serve until a signal comes; raises UsageError, Refused, NotWritable before it begins."""
    host, port = parse(address)
    allowed = hosts(host, allow_hosts)
    secret = token(settings)
    listener = _listen(host, port)
    port = listener.getsockname()[1]
    for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 0)):
        signal.signal(number, lambda *_, code=code: _end(code))

    from memai.mcp import sdk

    loaded = sdk.load(light=False)

    import uvicorn

    from memai.mcp.calls import Calls
    from memai.mcp.server import Backend, build

    backend = Backend(Calls(settings, profile), loaded)
    app = application(build(loaded, backend), secret, allowed, port)
    backend.warm()
    sys.stderr.write(
        f"memai serves {settings.path} at http://{_bracketed(host)}:{port}{PATH}; "
        f"the token is in {os.path.join(settings.home, TOKEN_NAME)}\n"
    )
    # A signal ends the serving, and then comes to the handler above.
    uvicorn.Server(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=_GRACE)).run(
        sockets=[listener]
    )
    _end(0)


def parse(address: str) -> tuple[str, int]:
    """Return host and port of an address, [HOST][:PORT]; raises UsageError."""
    text = address.strip()
    if text.startswith("["):
        host, _, rest = text[1:].partition("]")
        port = rest.removeprefix(":")
    elif text.isdigit():
        host, port = "", text
    else:
        host, _, port = text.partition(":") if text.count(":") <= 1 else (text, "", "")
    if port and not (port.isascii() and port.isdigit() and int(port) < 65_536):
        raise UsageError(reason=f"'{address}' is not HOST:PORT, as in {HOST}:{PORT}.")
    return host or HOST, int(port) if port else PORT


def hosts(host: str, allowed: Sequence[str]) -> tuple[str, ...]:
    """Return the names by which clients may address the server; raises Refused."""
    if host in _LOOPBACK or host.startswith("127."):
        return tuple(dict.fromkeys((*_LOOPBACK, host, *allowed)))
    if not allowed:
        raise Refused(
            reason=f"{host} can be reached from other machines. Say --allow-host NAME with the "
            "name by which clients reach it, if that is meant; the connection is not encrypted."
        )
    return tuple(dict.fromkeys((*_LOOPBACK, host, *allowed)))


def token(settings: Settings) -> str:
    """Return the token of this store's home, made on first use; raises Refused, NotWritable."""
    import secrets

    path = os.path.join(settings.home, TOKEN_NAME)
    try:
        os.makedirs(settings.home, mode=0o700, exist_ok=True)
        with suppress(FileExistsError):
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w") as file:
                file.write(secrets.token_urlsafe(_TOKEN_BYTES) + "\n")
        if os.name == "posix" and os.stat(path).st_mode & 0o077:
            raise Refused(reason=f"Others can read {path}. Run: chmod 600 '{path}'")
        with open(path, encoding="ascii", errors="replace") as file:
            secret = file.read().strip()
    except OSError as error:
        raise NotWritable(path=path, reason=error.strerror or "it cannot be made") from None
    if len(secret) < _TOKEN_BYTES:
        raise Refused(reason=f"{path} holds no token. Remove it, and a new one is made.")
    return secret


def application(server: Any, secret: str, allowed: Sequence[str], port: int) -> App:
    """Return the application: health, and the SDK's own behind the guard."""
    from mcp.server.transport_security import TransportSecuritySettings

    names = [f"{_bracketed(name)}{end}" for name in allowed for end in (f":{port}", "")]
    inner: App = server.streamable_http_app(
        streamable_http_path=PATH,
        max_request_body_size=MAX_LINE,
        # The guard checks Host and Origin of every path, and does not mind their case.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    return _Guard(inner, secret, names)


_SCHEMES = ("http", "https")


class _Guard:
    """Lets through what has the right Host, Origin and token; answers for the server's health."""

    def __init__(self, inner: App, secret: str, names: Sequence[str]) -> None:
        self._inner = inner
        self._secret = secret.encode()
        self._names = frozenset(name.lower() for name in names)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection's event or request."""
        if scope["type"] != "http":
            await self._inner(scope, receive, send)
            return
        headers: dict[bytes, bytes] = {}
        for name, value in scope["headers"]:
            # Of a header that comes twice neither can be trusted.
            headers[name] = b"" if name in headers else value
        refused = self._refusal(scope["path"], headers)
        if refused is not None:
            await _answer(send, *refused)
        elif scope["path"] == HEALTH:
            await _answer(send, 200, {"status": "ok"})
        else:
            await self._inner(scope, receive, send)

    def _refusal(self, path: str, headers: dict[bytes, bytes]) -> tuple[int, dict[str, str]] | None:
        """Return the status and the reason of a refusal."""
        host = headers.get(b"host", b"").decode("latin-1").lower()
        if host not in self._names:
            return 421, {"error": "This server does not answer to that Host."}
        if b"origin" in headers:
            origin = headers[b"origin"].decode("latin-1").lower()
            scheme, _, name = origin.partition("://")
            if scheme not in _SCHEMES or name not in self._names:
                return 403, {"error": "Requests of that Origin are not answered."}
        if path == HEALTH:
            return None
        import hmac

        scheme_and_token = headers.get(b"authorization", b"").split(None, 1)
        if len(scheme_and_token) != 2 or scheme_and_token[0].lower() != b"bearer":
            return 401, {"error": "Send the header 'Authorization: Bearer TOKEN'."}
        if not hmac.compare_digest(scheme_and_token[1].strip(), self._secret):
            return 401, {"error": "The token is not the one of this server."}
        return None


async def _answer(send: Send, status: int, body: dict[str, str]) -> None:
    """Send a small JSON answer."""
    import json

    data = json.dumps(body).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(data))]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": data})


def _listen(host: str, port: int) -> socket.socket:
    """Return a listening socket; raises NotWritable."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=128)
    except OSError as error:
        reason = error.strerror or "it cannot be listened on"
        raise NotWritable(path=f"{_bracketed(host)}:{port}", reason=reason) from None


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _end(code: int) -> NoReturn:
    """End the process: no thread that waits for a lock may hold it."""
    with suppress(OSError, ValueError):
        sys.stderr.flush()
    os._exit(code)
