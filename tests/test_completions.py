"""The committed completion files in the real shells: what Tab offers, and its silence."""

import fcntl
import os
import pty
import re
import select
import shutil
import struct
import subprocess
import sys
import termios
import time

import apsw
import pytest
from support import CHECKOUT

from memai import open_store, operations

FILES = CHECKOUT / "completions"
UIDS = r"[0-9a-hjkmnp-tv-z]{10}"

# A shell on a terminal of its own, so that its line editor is at work.
_ON_TERMINAL = (
    "import fcntl, os, sys, termios; os.setsid(); fcntl.ioctl(0, termios.TIOCSCTTY, 0); "
    "os.execvp(sys.argv[1], sys.argv[1:])"
)
_PROMPT = "at-your-service> "


def tool(name):
    """Return the path of a program, or skip."""
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"{name} is not installed")
    return path


@pytest.fixture
def environment(tmp_path, home):
    """Return an environment whose `memai` is this checkout, and whose shells read no settings."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "memai").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m memai "$@"\n')
    (programs / "memai").chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if name not in ("EDITOR", "VISUAL")}
    return kept | {
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(CHECKOUT),
        "ZDOTDIR": str(home),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),  # where fish makes folders
        "XDG_DATA_HOME": str(tmp_path / "data"),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "PS1": _PROMPT,
        "TERM": "dumb",
        "LC_ALL": "C.UTF-8",
    }


@pytest.fixture
def memories(environment):
    """Keep three memories in the store that the shells will ask."""
    store = open_store(f"{os.environ['MEMAI_HOME']}/memai.db")
    made = [
        operations.note(store, "Staging resets nightly: at two, every day", domain="shop"),
        operations.note(store, "Invoices are rounded", domain="billing", tags=("money", "tax")),
        operations.handoff(store, "Mails come next", domain="shop/PROJ 7"),
    ]
    store.close()
    return [written.uid for written in made]


class Terminal:
    """A shell that is typed at."""

    def __init__(self, argv, environment, folder):
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 160, 0, 0))
        self.process = subprocess.Popen(
            [sys.executable, "-c", _ON_TERMINAL, *argv],
            stdin=slave, stdout=slave, stderr=slave, env=environment, cwd=folder,
        )  # fmt: skip
        os.close(slave)
        self.typed = 0
        self.read()

    def read(self, said=b""):
        """Return what is shown until a prompt that follows these words; escapes are left out."""
        shown, deadline = b"", time.monotonic() + 60
        while not (shown.endswith(_PROMPT.encode()) and said in shown):
            ready = select.select([self.master], [], [], deadline - time.monotonic())[0]
            assert ready, shown
            shown += os.read(self.master, 65536)
            shown = re.sub(rb"\x1b\[[?0-9;]*[A-Za-z]", b"", shown)
        return shown.decode()

    def type(self, keys):
        """Press keys and Enter, and return what is shown until the shell is done with them."""
        self.typed += 1  # a line editor shows its prompt again: only this line says it is done
        os.write(self.master, f"{keys}; echo D''ONE-{self.typed}\r".encode())
        return self.read(f"DONE-{self.typed}\r\n".encode())

    def offered(self, line):
        """Type a line and Tab, and return what is shown before the line is given up."""
        return self.type(f"{line}\t\x15:")

    def completed(self, line):
        """Type a line and Tab, and return the words it has become."""
        shown = self.type(f"{line}\t\x01printf '<%s>' \x05")
        return re.findall(r"<([^<>%]*)>", shown)

    def close(self):
        """End the shell."""
        self.process.kill()
        self.process.wait()
        os.close(self.master)


@pytest.fixture
def bash(environment, home):
    """Open a bash that has sourced the committed file."""
    terminal = Terminal([tool("bash"), "--norc", "--noprofile", "-i"], environment, home)
    terminal.type("bind 'set show-all-if-ambiguous on'; bind 'set bell-style none'")
    terminal.type(f"source '{FILES}/memai.bash'")
    yield terminal
    terminal.close()


@pytest.fixture
def zsh(environment, home):
    """Open a zsh that finds the committed file on its fpath."""
    terminal = Terminal([tool("zsh"), "-f", "-i"], environment, home)
    terminal.type(f"setopt no_beep no_prompt_sp; fpath=('{FILES}' $fpath)")
    terminal.type("autoload -Uz compinit; compinit -u -D; bindkey -e; LISTMAX=0")
    yield terminal
    terminal.close()


@pytest.fixture
def fish(environment, home):
    """Return a function that asks fish for its candidates, with their descriptions."""
    path = tool("fish")

    def offered(line):
        quoted = line.replace("\\", "\\\\").replace("'", "\\'")
        done = subprocess.run(
            [path, "--no-config", "-c", f"source '{FILES}/memai.fish'; complete -C '{quoted}'"],
            env=environment, cwd=home, capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert done.stderr == ""
        return dict(f"{line}\t".split("\t")[:2] for line in done.stdout.splitlines())

    return offered


@pytest.mark.parametrize(
    "shell, name", [("bash", "memai.bash"), ("zsh", "_memai"), ("fish", "memai.fish")]
)
def test_the_files_are_right_in_their_language(shell, name):
    """Each shell reads its file without executing it and finds no fault."""
    done = subprocess.run(
        [tool(shell), "-n", FILES / name], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


# bash


def test_bash_completes(bash, memories):
    """Bash offers commands with summaries, uids with first words, domains, types, options."""
    offered = bash.offered("memai se")
    assert re.search(r"search +\(Find memories", offered)
    assert re.search(r"serve-mcp +\(Serve", offered)
    offered = bash.offered("memai show ")
    assert set(memories) <= set(re.findall(UIDS, offered))
    assert re.search(rf"{memories[0]} +\(Staging resets nightly: at two, every day\)", offered)
    offered = bash.offered("memai list --domain ")
    assert {"shop", "billing"} <= set(offered.split())
    assert "'shop/PROJ 7'" in offered
    offered = bash.offered("memai list --type ")
    assert {"note", "checkpoint", "anti_pattern", "reasoning", "handoff"} <= set(offered.split())
    assert "--max-bytes" in bash.offered("memai list --")


def test_bash_inserts(bash, memories):
    """Bash completes a uid and a command, and quotes what it would split."""
    uid = memories[0]
    assert bash.completed(f"memai show {uid[:6]}") == ["memai", "show", uid]
    assert bash.completed("memai sta") == ["memai", "stats"]
    assert bash.completed("memai list -d shop/") == ["memai", "list", "-d", "shop/PROJ 7"]


# zsh


def test_zsh_completes(zsh, memories):
    """Zsh offers commands with summaries, uids with their first words, domains, types, options."""
    offered = zsh.offered("memai se")
    assert re.search(r"search +-- Find memories", offered)
    assert re.search(r"serve-mcp +-- Serve", offered)
    offered = zsh.offered("memai show ")
    assert re.search(rf"{memories[0]} +-- Staging resets nightly: at two, every day", offered)
    assert re.search(rf"{memories[2]} +-- handoff: Mails come next", offered)
    assert re.search(r"billing .*-- 1 memory", zsh.offered("memai list --domain "))
    offered = zsh.offered("memai list --type ")
    assert {"note", "checkpoint", "anti_pattern", "reasoning", "handoff"} <= set(offered.split())
    assert re.search(r"--max-bytes +-- At most", zsh.offered("memai list --"))


def test_zsh_inserts(zsh, memories):
    """Zsh completes a uid, a command and a domain with a blank."""
    uid = memories[0]
    assert zsh.completed(f"memai show {uid[:6]}") == ["memai", "show", uid]
    assert zsh.completed("memai sta") == ["memai", "stats"]
    assert zsh.completed("memai list -d shop/") == ["memai", "list", "-d", "shop/PROJ 7"]


# fish


def test_fish_completes(fish, memories):
    """Fish offers commands with summaries, uids with their first words, domains, types, options."""
    assert set(fish("memai se")) == {"search", "serve-mcp", "setup"}
    assert fish("memai se")["search"] == "Find memories by words and by meaning, best first."
    offered = fish("memai show ")
    assert set(offered) == set(memories)
    assert offered[memories[0]] == "Staging resets nightly: at two, every day"
    assert set(fish("memai list --domain ")) >= {"shop", "billing", "shop/PROJ 7"}
    assert set(fish("memai list -d b")) == {"billing"}
    assert set(fish("memai list --type ")) == {
        "note", "checkpoint", "anti_pattern", "reasoning", "handoff",
    }  # fmt: skip
    assert fish("memai list --limi") == {"--limit": "At most this many."}
    assert fish("memai help sta").keys() == {"stats"}


def test_fish_completes_after_a_comma(fish, memories):
    """Of several tags between commas, fish offers the next one."""
    assert set(fish("memai list -t money,t")) == {"money,tax"}


# Silence


def ask(shell, environment, folder, words):
    """Return all that a shell's completion function prints and offers, standard error included."""
    if shell == "bash":
        quoted = " ".join(f"'{word}'" for word in words)
        code = (
            f"source '{FILES}/memai.bash'; COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; "
            "_memai_completion memai; printf '%s' \"${COMPREPLY[@]}\""
        )
        argv = [tool("bash"), "--norc", "-c", code]
    elif shell == "zsh":
        # Without a line editor there is no compadd: these stand for it and print the candidates.
        code = (
            "compdef() { }; _describe() { print -l $completions_with_descriptions }; "
            f"compadd() {{ print -l $completions }}; source '{FILES}/_memai'; "
            f"words=({' '.join(repr(word) for word in words)}); CURRENT={len(words)}; "
            "_memai_completion"
        )
        argv = [tool("zsh"), "-f", "-c", code]
    else:
        line = " ".join(words)
        code = f"source '{FILES}/memai.fish'; complete -C '{line}'"
        argv = [tool("fish"), "--no-config", "-c", code]
    done = subprocess.run(
        argv,
        env=environment,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=60,
    )
    return done.stdout.strip()


QUESTIONS = (["memai", "show", ""], ["memai", "list", "--domain", ""], ["memai", "list", "-t", ""])


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_store_is_asked(shell, environment, memories, home):
    """The questions below have answers where there is a store."""
    for words in QUESTIONS:
        assert ask(shell, environment, home, words)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_without_a_store_nothing_is_said_and_nothing_made(shell, environment, home):
    """Where there is no store yet, Tab offers nothing, says nothing and makes no file."""
    for words in QUESTIONS:
        assert ask(shell, environment, home, words) == ""
    assert list(home.rglob("*")) == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_locked_store_is_not_waited_for(shell, environment, memories, home):
    """Where another process holds the store for itself alone, Tab offers nothing at once."""
    path = f"{os.environ['MEMAI_HOME']}/memai.db"
    holder = apsw.Connection(path)
    holder.execute("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE").fetchall()
    try:
        for words in QUESTIONS:
            assert ask(shell, environment | {"MEMAI_BUSY_SECONDS": "3600"}, home, words) == ""
    finally:
        holder.execute("ROLLBACK")
        holder.close()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_file_that_is_no_store_says_nothing(shell, environment, home):
    """Where the store is a foreign file or a folder, Tab offers nothing and touches nothing."""
    foreign = home / "letters.db"
    foreign.write_bytes(b"Dear Ada, " * 200)
    for path in (foreign, home):
        asked = environment | {"MEMAI_DB": str(path)}
        for words in QUESTIONS:
            assert ask(shell, asked, home, words) == ""
    assert foreign.read_bytes() == b"Dear Ada, " * 200
