"""`memai setup`: the settings of clients are changed safely, once, and back again."""

import json
import os
import shlex
import sys
import tomllib
from pathlib import Path
from typing import Any, get_args

import pytest
from mcp_support import WITH_HOOKS, entry_of, file_of, hooks_of

from memai import open_store, operations, signatures
from memai.errors import NotWritable, Refused
from memai.mcp import clients, configuration
from memai.mcp.clients import program
from memai.mcp.setup import ClientName, setup
from memai.settings import resolve

CLIENTS = [name for name in get_args(ClientName) if name != "print"]


@pytest.fixture(autouse=True)
def usual(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    """Let no variable of whoever runs the tests move a client's files, nor the store."""
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME", "APPDATA", "MEMAI_HOME"):
        monkeypatch.delenv(name, raising=False)


def everything(home: Path) -> dict[str, bytes]:
    """Return every file below a folder with its bytes."""
    return {str(p): p.read_bytes() for p in home.rglob("*") if p.is_file()}


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_is_set_up_where_nothing_was(client: str) -> None:
    """The entry is written with an absolute command that can be run."""
    done = setup(resolve(), client)
    assert done.changed
    assert done.backups == ()
    entry = entry_of(client)
    assert os.path.isabs(entry["command"])
    assert os.access(entry["command"], os.X_OK)
    assert entry["args"][-1] == "serve-mcp"
    assert "env" not in entry
    assert file_of(client).stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("client", CLIENTS)
def test_twice_is_once(client: str, home: Path) -> None:
    """A second run changes no file, makes no copy, and says so."""
    setup(resolve(), client, remind=True)
    before = everything(home)
    again = setup(resolve(), client, remind=True)
    assert not again.changed
    assert "Nothing to change." in again.notes
    assert everything(home) == before


@pytest.mark.parametrize("client", CLIENTS)
def test_a_dry_run_changes_nothing(client: str, home: Path) -> None:
    """What would be changed is said, and nothing is written, not even a folder."""
    done = setup(resolve(), client, dry_run=True)
    assert done.changed
    assert any("Would change" in note for note in done.notes)
    assert "serve-mcp" in done.shows
    assert list(home.iterdir()) == []


SETTINGS = {
    "json": '{\n\t"theme": "dark",\n\t"KEY": {\n\t\t"other": {"command": "x"}\n\t},\n'
    '\t"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "mine"}]}],\n'
    '\t\t"Stop": []},\n\t"grüße": 1\n}\n',
    "toml": '# my settings\nmodel = "o5"\n\n[mcp_servers.other]\ncommand = "x"  # keep\n'
    '\n[profiles.fast]\nmodel = "o5-mini"\n',
}


def existing(client: str) -> str:
    """Put settings of a person into a client's file and return them."""
    found = clients.clients()[client]
    text = SETTINGS[found.format].replace("KEY", found.servers)
    file_of(client).parent.mkdir(parents=True, exist_ok=True)
    file_of(client).write_text(text)
    return text


def parsed(client: str) -> dict[str, Any]:
    """Return the settings of a client without memai's entry and hook."""
    found = clients.clients()[client]
    text = file_of(client).read_text()
    whole: dict[str, Any] = tomllib.loads(text) if found.format == "toml" else json.loads(text)
    whole[found.servers].pop("memai", None)
    for group in whole.get("hooks", {}).get("SessionStart", []):
        group["hooks"] = [h for h in group["hooks"] if "memai" not in h["command"]]
    if "hooks" in whole:
        starts = whole["hooks"]["SessionStart"]
        whole["hooks"]["SessionStart"] = [group for group in starts if group["hooks"]]
    return whole


@pytest.mark.parametrize("client", CLIENTS)
def test_what_was_there_stays_and_is_copied_first(client: str) -> None:
    """Other servers, keys, hooks and comments stay; the copy is the file as it was."""
    text = existing(client)
    os.chmod(file_of(client), 0o640)
    before = parsed(client)
    done = setup(resolve(), client)
    assert Path(done.backups[0]).read_text() == text
    assert Path(done.backups[0]).stat().st_mode & 0o777 == 0o640
    assert file_of(client).stat().st_mode & 0o777 == 0o640
    assert parsed(client) == before
    assert entry_of(client)["args"][-1] == "serve-mcp"
    after = file_of(client).read_text()
    if client == "codex":
        assert after.startswith("# my settings\n")
        assert "# keep" in after
    else:
        assert '\n\t"theme": "dark"' in after
        assert "grüße" in after


@pytest.mark.parametrize("client", CLIENTS)
def test_remove_takes_out_what_setup_put_in(client: str) -> None:
    """After --remove the settings mean what they meant before, and a second one does nothing."""
    existing(client)
    before = parsed(client)
    setup(resolve(), client, remind=True)
    done = setup(resolve(), client, remove=True)
    assert done.changed
    assert parsed(client) == before
    assert "memai" not in file_of(client).read_text()
    assert not setup(resolve(), client, remove=True).changed
    if client in WITH_HOOKS:
        assert not any("memai" in command for command in hooks_of(client))


def test_removing_from_nothing_makes_nothing(home: Path) -> None:
    """Taking memai out of a client that never had it leaves no trace."""
    for client in CLIENTS:
        assert not setup(resolve(), client, remove=True).changed
    assert list(home.iterdir()) == []


@pytest.mark.parametrize("client", CLIENTS)
def test_what_a_person_added_to_the_entry_stays(client: str) -> None:
    """Keys and variables that memai does not write survive another setup; its own follow."""
    found = clients.clients()[client]
    setup(resolve(), client)
    if found.format == "toml":
        block = '[mcp_servers.memai]\ncommand = "/old/memai"\nargs = ["serve-mcp"]\n'
        block += 'startup_timeout_sec = 20\nenv = { "MEMAI_DOMAIN" = "gone", "LANG" = "C" }\n'
        file_of(client).write_text(block)
    else:
        whole = json.loads(file_of(client).read_text())
        whole[found.servers]["memai"] |= {
            "command": "/old/memai",
            "startup_timeout_sec": 20,
            "env": {"MEMAI_DOMAIN": "gone", "LANG": "C"},
        }
        file_of(client).write_text(json.dumps(whole))
    assert setup(resolve(), client, tools="all", prefix="m_", read_only=True).changed
    entry = entry_of(client)
    assert entry["startup_timeout_sec"] == 20
    assert entry["env"] == {"LANG": "C"}
    assert entry["command"] != "/old/memai"
    assert entry["args"][-6:] == ["serve-mcp", "--tools", "all", "--prefix", "m_", "--read-only"]


def test_the_entry_leads_to_the_store_of_this_shell(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """MEMAI_HOME and --db are written into the entry and the hook, absolute."""
    monkeypatch.setenv("MEMAI_HOME", str(tmp_path / "my memories"))
    setup(resolve(), "claude-code")
    assert entry_of("claude-code")["env"] == {"MEMAI_HOME": str(tmp_path / "my memories")}
    assert f"--db '{tmp_path}/my memories/memai.db' pulse" in hooks_of("claude-code")[0]
    setup(resolve(str(tmp_path / "x.db")), "claude-code")
    assert entry_of("claude-code")["env"]["MEMAI_DB"] == str(tmp_path / "x.db")
    assert len(hooks_of("claude-code")) == 1


@pytest.mark.parametrize(
    ("client", "text"),
    [
        ("vscode", '{\n  // my servers\n  "servers": {},\n}\n'),
        ("cursor", "[]"),
        ("cursor", "{"),
        ("gemini", "[" * 100_000),
        ("codex", "mcp_servers = { other = { command = 'x' }, memai = { command = 'y' } }\n"),
        ("codex", "mcp_servers.memai.command = 'y'\n"),
        ("codex", "[mcp_servers.memai]\nsince = 2026-01-01\n"),
        ("codex", "this is no toml"),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_a_file_in_another_form_is_left_untouched(client: str, text: str, home: Path) -> None:
    """What cannot be changed safely is refused with the way to do it by hand."""
    file_of(client).parent.mkdir(parents=True, exist_ok=True)
    file_of(client).write_text(text)
    before = everything(home)
    with pytest.raises(Refused, match="left untouched"):
        setup(resolve(), client)
    assert everything(home) == before


def test_a_file_that_is_no_text_is_left_untouched() -> None:
    """Bytes that are no UTF-8 are not rewritten."""
    file_of("cursor").parent.mkdir(parents=True)
    file_of("cursor").write_bytes(b'{"a": "\xff"}')
    with pytest.raises(Refused, match="not UTF-8"):
        setup(resolve(), "cursor")
    assert file_of("cursor").read_bytes() == b'{"a": "\xff"}'


def test_a_link_is_followed(tmp_path: Path) -> None:
    """Settings that are a link into somebody's dotfiles stay one."""
    real = tmp_path / "dotfiles.json"
    real.write_text("{}")
    file_of("cursor").parent.mkdir(parents=True)
    file_of("cursor").symlink_to(real)
    setup(resolve(), "cursor")
    assert file_of("cursor").is_symlink()
    assert "serve-mcp" in real.read_text()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_an_error() -> None:
    """Without permission nothing changes, and the error says where."""
    file_of("cursor").parent.mkdir(parents=True)
    file_of("cursor").parent.chmod(0o500)
    with pytest.raises(NotWritable, match=r"mcp\.json"):
        setup(resolve(), "cursor")


def test_a_write_that_fails_leaves_the_old_file(
    monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    """If the disk is full in the middle, the settings are as they were and no scrap is left."""
    text = existing("cursor")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(configuration.os, "fsync", full)
    with pytest.raises(NotWritable, match="No space left"):
        setup(resolve(), "cursor")
    assert [p.name for p in file_of("cursor").parent.iterdir()] == ["mcp.json"]
    assert file_of("cursor").read_text() == text


def test_print_shows_an_entry_and_writes_nothing(home: Path) -> None:
    """`setup print` is the entry for any client, as JSON."""
    done = setup(resolve(), "print")
    entry = json.loads(done.shows)["mcpServers"]["memai"]
    assert entry["args"][-1] == "serve-mcp"
    assert not done.changed
    assert list(home.iterdir()) == []


def test_a_client_that_cannot_start_memai_is_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    """What setup writes is well with doctor; a command without a path, or another store, is not."""
    for client in CLIENTS:
        setup(resolve(), client)

    def advice() -> set[tuple[str, str]]:
        codes = ("client-command", "other-store")
        return {
            (f.code, f.level) for f in operations.doctor(open_store()).findings if f.code in codes
        }

    operations.note(open_store(), "Something to look after.")
    assert advice() == set()
    whole = json.loads(file_of("cursor").read_text())
    whole["mcpServers"]["memai"]["command"] = "memai"
    file_of("cursor").write_text(json.dumps(whole))
    assert advice() == {("client-command", "advice")}
    whole["mcpServers"]["memai"] |= {"env": {"MEMAI_HOME": "/elsewhere"}}
    file_of("cursor").write_text(json.dumps(whole))
    assert advice() == {("client-command", "advice"), ("other-store", "advice")}


def test_setup_can_be_taken_apart_like_an_operation() -> None:
    """Its parameters have names, choices and help in the one form that all faces read."""
    taken = signatures.read(setup)
    assert len(taken.summary) <= 72
    (client,) = taken.positionals()
    assert client.choices == get_args(ClientName)
    assert all(parameter.param.help for parameter in taken.parameters)
    assert {p.option for p in taken.options()} == {
        "--tools",
        "--prefix",
        "--read-only",
        "--hook",
        "--remind",
        "--dry-run",
        "--remove",
    }


def test_the_program_is_found_without_a_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run as a module, from a console script or from elsewhere, the command is absolute."""
    for started in ("-c", "/nowhere/memai", sys.executable, "memai"):
        monkeypatch.setattr(sys, "argv", [started])
        command = program()
        assert os.path.isabs(command[0])
        assert os.access(command[0], os.X_OK)
        assert shlex.join(command)
