"""What a client runs when a session starts: written once, and working in a bare environment."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from mcp_support import WITH_HOOKS, entry_of, hooks_of
from support import CHECKOUT

from memai import open_store, operations
from memai.mcp import clients, hook
from memai.mcp.clients import program
from memai.mcp.setup import setup
from memai.settings import resolve


@pytest.fixture(autouse=True)
def usual(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    """Let no variable of whoever runs the tests move a client's files, nor the store."""
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME", "APPDATA", "MEMAI_HOME"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("client", WITH_HOOKS)
def test_a_hook_works_with_a_short_path(client: str, home: Path) -> None:
    """The session-start hook runs in a bare environment, as hooks and cron have it."""
    if program()[0].endswith("/memai") and not _installed_here():
        pytest.skip("the installed command is of another checkout")
    operations.note(open_store(), "The lantern is in the cellar.")
    setup(resolve(), client, remind=True)
    (command,) = hooks_of(client)
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        env={"HOME": str(home), "PATH": "/usr/bin:/bin", "PYTHONPATH": str(CHECKOUT)},
        input=b'{"session_id": "x"}',
        capture_output=True,
        timeout=30,
        check=True,
        cwd="/",
    )
    text = done.stdout.decode()
    if client == "gemini":
        output = json.loads(text)["hookSpecificOutput"]
        assert output["hookEventName"] == "SessionStart"
        text = output["additionalContext"]
    assert "lantern" in text
    assert text.rstrip().endswith(hook.REMINDER)
    assert len(text.encode()) < 2_048
    assert done.stderr == b""


def _installed_here() -> bool:
    """Whether the command that setup writes imports this checkout."""
    found = subprocess.run(
        [*program(), "--version"],
        env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
        capture_output=True,
        check=False,
    )
    return found.returncode == 0


def test_a_hook_can_be_left_out() -> None:
    """Without a hook only the entry is written, and one that was there goes."""
    setup(resolve(), "claude-code")
    assert len(hooks_of("claude-code")) == 1
    setup(resolve(), "claude-code", hook=False)
    assert hooks_of("claude-code") == []
    assert entry_of("claude-code")


def test_a_hook_of_another_installation_is_replaced() -> None:
    """A memai that moved does not leave two hooks."""
    path = Path(clients.clients()["claude-code"].hooks or "")
    path.parent.mkdir(parents=True)
    old = {"type": "command", "command": "/old/bin/memai pulse --max-bytes 1800"}
    mine = {"type": "command", "command": "echo memai"}
    path.write_text(json.dumps({"hooks": {"SessionStart": [{"hooks": [mine, old]}]}}))
    setup(resolve(), "claude-code")
    assert hooks_of("claude-code")[0] == "echo memai"
    assert len(hooks_of("claude-code")) == 2
    assert "/old/bin" not in " ".join(hooks_of("claude-code"))


def test_the_json_hook_says_what_is_wrong(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """A hook that cannot read the store still writes the JSON that its client wants."""
    (tmp_path / "broken.db").write_text("no database at all, and long enough to be looked at" * 9)
    hook.main([str(tmp_path / "broken.db")])
    output = json.loads(capsys.readouterr().out)["hookSpecificOutput"]
    assert "not a memai store" in output["additionalContext"]
