"""Commands that are no operation: the server, the settings of clients."""

import json

import pytest


@pytest.fixture
def served(monkeypatch):
    """Keep what the server is started with, and start none."""
    calls = []

    def serve(settings, **options):
        calls.append((settings, options))
        return 0

    monkeypatch.setattr("memai.mcp.serve", serve)
    return calls


def test_the_server_gets_what_the_line_says(memai, served, home):
    """serve-mcp hands its options and the store to the server."""
    assert memai("serve-mcp").code == 0
    line = ("--tools", "all", "--prefix", "memai_", "--read-only", "--allow-purge")
    assert memai("serve-mcp", *line, "--db", str(home / "x.db")).code == 0
    assert memai("serve-mcp", "--http", ":8080", "--allow-host", "a", "--allow-host", "b").code == 0
    plain, full, web = (options for _, options in served)
    assert plain == {
        "tools": "daily",
        "prefix": "",
        "read_only": False,
        "allow_purge": False,
        "http": None,
        "allow_hosts": (),
    }
    assert full == {
        **plain,
        "tools": "all",
        "prefix": "memai_",
        "read_only": True,
        "allow_purge": True,
    }
    assert web == {**plain, "http": ":8080", "allow_hosts": ("a", "b")}
    assert served[1][0].path == str(home / "x.db")


def test_a_client_is_set_up_from_the_shell(memai, home):
    """Setup writes the entry of a client, says where, and is undone by --remove."""
    run = memai("setup", "cursor")
    assert run.code == 0
    path = home / ".cursor" / "mcp.json"
    assert run.lines[0] == str(path)
    assert "memai" in json.loads(path.read_text())["mcpServers"]
    assert memai("setup", "cursor", "--remove").code == 0
    assert "memai" not in json.loads(path.read_text())["mcpServers"]


def test_the_entry_alone_is_printed(memai, home):
    """With print the answer is the entry and nothing else, and no file is made."""
    run = memai("setup", "print", "--tools", "all")
    assert run.json["mcpServers"]["memai"]["args"][-2:] == ["--tools", "all"]
    assert memai("setup", "print", "--json").json["client"] == "print"
    assert list(home.iterdir()) == []


def test_a_client_that_is_not_known_is_refused(memai):
    """An unknown client is answered with those that there are."""
    run = memai("setup", "emacs")
    assert (run.code, run.out) == (2, "")
    assert "claude-code" in run.err
