"""The server over HTTP: who may speak to it, and what everybody else is told."""

import http.client
import json
import os
import signal
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from memai.errors import NotWritable, Refused, UsageError
from memai.mcp import checked_prefix, web
from memai.settings import resolve

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "web-client", "version": "1"},
    },
}


class Site:
    """A server over HTTP and a client that says just what it is told."""

    def __init__(self, server: Any, home: str) -> None:
        self.server = server
        deadline = time.monotonic() + 20
        while b"/mcp;" not in server.errors:
            assert server.process.poll() is None, server.errors
            assert time.monotonic() < deadline
            time.sleep(0.02)
        self.port = int(server.errors.partition(b"http://127.0.0.1:")[2].partition(b"/")[0])
        self.token = Path(home, web.TOKEN_NAME).read_text().strip()

    def ask(
        self,
        method: str = "POST",
        path: str = "/mcp",
        body: Any = INITIALIZE,
        drop: tuple[str, ...] = (),
        **headers: str,
    ) -> tuple[int, dict[str, str], bytes]:
        """Send one request; header names have underscores for hyphens."""
        sent = {
            "Host": f"127.0.0.1:{self.port}",
            "Authorization": f"Bearer {self.token}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in sent.items():
            if name not in drop:
                connection.putheader(name, value)
        if method == "POST":
            connection.putheader("Content-Length", str(len(data)))
        connection.endheaders(data if method == "POST" else None)
        response = connection.getresponse()
        got = dict(response.headers.items()), response.read()
        connection.close()
        return response.status, *got

    def session(self, name: str = "web-client") -> str:
        """Begin a session and return its id."""
        body = json.loads(json.dumps(INITIALIZE))
        body["params"]["clientInfo"]["name"] = name
        status, headers, _ = self.ask(body=body)
        assert status == 200
        id = {k.lower(): v for k, v in headers.items()}["mcp-session-id"]
        self.ask(body={"jsonrpc": "2.0", "method": "notifications/initialized"}, Mcp_Session_Id=id)
        return id

    def call(self, session: str, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool and return its structured content."""
        body = {
            "jsonrpc": "2.0",
            "id": 2,
            "method": "tools/call",
            "params": {"name": tool, "arguments": arguments},
        }
        status, _, data = self.ask(body=body, Mcp_Session_Id=session)
        assert status == 200, data
        lines = [line for line in data.decode().splitlines() if line.startswith("data: {")]
        content: dict[str, Any] = json.loads(lines[-1][6:])["result"]["structuredContent"]
        return content


@pytest.fixture(scope="module")
def site(begin: Any, tmp_path_factory: pytest.TempPathFactory) -> Site:
    """Serve over HTTP on a free port, for all tests here that leave the server alive."""
    home = str(tmp_path_factory.mktemp("site"))
    return Site(begin({"MEMAI_HOME": home}, http="127.0.0.1:0"), home)


def test_several_clients_share_one_process(site: Site) -> None:
    """Each session writes under its client's name and a session of its own; both see all."""
    first, second = site.session("first-client"), site.session("second-client")
    one = site.call(first, "note", content="From the first.")["memory"]
    two = site.call(second, "note", content="From the second.")["memory"]
    assert (one["agent"], two["agent"]) == ("first-client", "second-client")
    assert one["session"] != two["session"]
    assert one["session"].startswith("mcp-")
    # The id of a session opens it, so it is not what is stored.
    assert first not in json.dumps(one)
    assert len(site.call(first, "list")["memories"]) == 2


def test_the_token_is_asked_for_in_the_header_only(site: Site) -> None:
    """Without the right token in the header nothing is answered, wherever else it stands."""
    status, headers, body = site.ask(drop=("Authorization",))
    assert status == 401
    assert {k.lower(): v for k, v in headers.items()}["www-authenticate"] == "Bearer"
    assert b"Authorization: Bearer" in body
    for path in (f"/mcp?token={site.token}", f"/mcp?access_token={site.token}"):
        assert site.ask(path=path, drop=("Authorization",))[0] == 401
    wrong = [
        f"Bearer {site.token[:-1]}",
        f"Bearer {site.token}x",
        f"Basic {site.token}",
        site.token,
        "Bearer",
        "Bearer ",
        "",
    ]
    for value in wrong:
        assert site.ask(Authorization=value)[0] == 401, value
    assert site.ask(Authorization=f"bearer  {site.token} ")[0] == 200
    assert site.token.encode() not in site.server.errors


def test_an_unknown_host_or_origin_is_refused(site: Site) -> None:
    """A name of somebody else's that leads here, or a page from elsewhere, gets nothing."""
    for host in ("evil.example", f"evil.example:{site.port}", "127.0.0.1:1", "", "localhost.evil"):
        assert site.ask(Host=host)[0] == 421, host
    for host in (f"localhost:{site.port}", f"LOCALHOST:{site.port}", f"[::1]:{site.port}"):
        assert site.ask(Host=host)[0] == 200, host
    for origin in ("https://evil.example", "null", "http://127.0.0.1:1", "file://"):
        assert site.ask(Origin=origin)[0] == 403, origin
    assert site.ask(Origin=f"http://localhost:{site.port}")[0] == 200


def test_health_needs_no_token_and_says_nothing(site: Site) -> None:
    """A monitor can ask whether the server lives, and learns nothing else."""
    status, _, body = site.ask("GET", "/health", drop=("Authorization",))
    assert (status, json.loads(body)) == (200, {"status": "ok"})
    assert site.ask("GET", "/health", Host="evil.example")[0] == 421
    assert site.ask("GET", "/other")[0] == 404
    assert site.ask("GET", "/other", drop=("Authorization",))[0] == 401


def test_a_body_is_bounded(site: Site) -> None:
    """What is larger than any memory is refused before it is parsed."""
    assert site.ask(body=b'{"x": "' + b"y" * 8_100_000 + b'"}')[0] == 413
    assert site.ask(body=b"not json")[0] == 400
    surrogate = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"\\ud800"}}'
    assert site.ask(body=surrogate)[0] == 400


def test_the_token_is_private_and_stays(home: Path) -> None:
    """The token is 32 random bytes in a file that only its owner can read, the same next time."""
    token = web.token(resolve())
    path = Path(resolve().home, web.TOKEN_NAME)
    assert path.stat().st_mode & 0o777 == 0o600
    assert len(token) == 43
    assert web.token(resolve()) == token
    path.chmod(0o644)
    with pytest.raises(Refused, match="chmod 600"):
        web.token(resolve())
    path.chmod(0o600)
    path.write_text("short\n")
    with pytest.raises(Refused, match="holds no token"):
        web.token(resolve())


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 0)])
def test_a_signal_ends_it(start: Any, number: int, code: int) -> None:
    """One signal ends the server in time, open streams or not, without a traceback."""
    server = start(shake=False, http="127.0.0.1:0", popen={"stdin": subprocess.DEVNULL})
    site = Site(server, resolve().home)
    session = site.session()
    stream = http.client.HTTPConnection("127.0.0.1", site.port, timeout=20)
    stream.request(
        "GET",
        "/mcp",
        headers={
            "Authorization": f"Bearer {site.token}",
            "Accept": "text/event-stream",
            "Mcp-Session-Id": session,
        },
    )
    assert stream.getresponse().status == 200
    began = time.monotonic()
    site.server.process.send_signal(number)
    assert site.server.ended(8) == code
    assert time.monotonic() - began < 6
    assert b"Traceback" not in site.server.errors
    stream.close()


@pytest.mark.parametrize(
    ("address", "place"),
    [
        ("", ("127.0.0.1", 8474)),
        ("9000", ("127.0.0.1", 9000)),
        (":9000", ("127.0.0.1", 9000)),
        ("0.0.0.0", ("0.0.0.0", 8474)),
        ("localhost:9000", ("localhost", 9000)),
        ("[::1]:9000", ("::1", 9000)),
        ("[::1]", ("::1", 8474)),
        ("::1", ("::1", 8474)),
    ],
)
def test_an_address_is_host_and_port(address: str, place: tuple[str, int]) -> None:
    """Each half of HOST:PORT can be left out."""
    assert web.parse(address) == place


@pytest.mark.parametrize("address", ["x:y", "x:99999", "x:-1", "x:１"])
def test_what_is_no_address_is_refused(address: str) -> None:
    """A port that is none is refused by the address."""
    with pytest.raises(UsageError, match="HOST:PORT"):
        web.parse(address)


def test_other_interfaces_need_a_word_of_consent() -> None:
    """Where other machines can reach it, the names by which they may must be said."""
    for host in ("0.0.0.0", "192.168.0.7", "::", "notes.lan"):
        with pytest.raises(Refused, match="--allow-host"):
            web.hosts(host, ())
        assert "notes.example" in web.hosts(host, ("notes.example",))
    assert web.hosts("127.0.0.1", ()) == ("127.0.0.1", "localhost", "::1")
    assert "127.0.0.9" in web.hosts("127.0.0.9", ())


def test_a_port_that_is_taken_is_an_error(home: Path) -> None:
    """A second server on the same port says so instead of ending in a traceback."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(NotWritable, match=f"127.0.0.1:{port}"):
            web._listen("127.0.0.1", port)


@pytest.mark.parametrize("prefix", ["a b", "é_", "x" * 25, "a.b", "-", "memai/"])
def test_a_prefix_that_clients_reject_is_refused(prefix: str) -> None:
    """A prefix has letters, digits and underscores, and is short."""
    with pytest.raises(UsageError, match="prefix"):
        checked_prefix(prefix)
    assert checked_prefix("memai_2_") == "memai_2_"
    assert os.environ["MEMAI_HOME"]
