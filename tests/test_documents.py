"""The manual and the completion files are what the program says of itself, and well-formed."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from xml.etree import ElementTree as ET

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import CHECKOUT

from memai.documents import RELEASE, documents, known, pages, references, roff, write
from memai.documents.tree import commands, options, program
from memai.errors import EXIT_CODES
from memai.operations import OPERATIONS
from memai.settings import ENVIRONMENT

COMMITTED = {
    str(path.relative_to(CHECKOUT)): path.read_text(encoding="utf-8")
    for path in (
        *sorted((CHECKOUT / "man").rglob("*")),
        *sorted((CHECKOUT / "completions").rglob("*")),
        CHECKOUT / known.PATH,
    )
    if path.is_file()
}
MANUAL = sorted(path for path in COMMITTED if path.startswith("man/"))
SECTIONS = [
    "NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXAMPLES", "EXIT STATUS", "ENVIRONMENT", "FILES",
    "SEE ALSO",
]  # fmt: skip
CHARACTERS = {"rs": "\\", "aq": "'", "ga": "`", "ha": "^", "ti": "~"}


def unescaped(source):
    """Return what roff shows for escaped text."""
    escape = re.compile(r"\\(?:\((rs|aq|ga|ha|ti)|\[u([0-9A-F]{4,6})\]|(-)|&|f[BIR])")
    return escape.sub(
        lambda m: CHARACTERS[m[1]] if m[1] else chr(int(m[2], 16)) if m[2] else m[3] or "", source
    )


def plain(source):
    """Return the text of a page as a reader copies it, long commands on one line."""
    return unescaped(source).replace(" \\\n    ", " ")


def page_of(command):
    """Return the committed page of a command, as a reader copies it."""
    return plain(COMMITTED[f"man/man1/{command.page}.1"])


@pytest.fixture(scope="module", params=commands(), ids=lambda command: command.words)
def command(request):
    """Return each command in turn."""
    return request.param


def tool(name):
    """Return the path of a program, or skip."""
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"{name} is not installed")
    return path


# What is committed


def test_committed_documents_are_current():
    """What is committed is what `python -m memai.documents` writes: no less, no more."""
    assert documents() == COMMITTED, "run python -m memai.documents and commit what it writes"


def test_documents_depend_on_no_environment(tmp_path):
    """Another language, time zone, width or colour setting changes no byte; old pages go."""
    old = tmp_path / "man" / "man1" / "memai-gone.1"
    old.parent.mkdir(parents=True)
    old.write_text("")
    environment = os.environ | {
        "LC_ALL": "C", "TZ": "Asia/Kathmandu", "COLUMNS": "40", "NO_COLOR": "1",
        "MEMAI_DOMAIN": "elsewhere", "PYTHONPATH": str(CHECKOUT),
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-m", "memai.documents", str(tmp_path)],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == f"{len(COMMITTED)} documents written.\n"
    made = {
        str(path.relative_to(tmp_path)): path.read_text(encoding="utf-8")
        for path in tmp_path.rglob("*")
        if path.is_file() and str(path.relative_to(tmp_path)) in COMMITTED
    }
    assert made == COMMITTED


def test_write_returns_the_paths(tmp_path):
    """Writing says which files it wrote."""
    assert sorted(write(str(tmp_path))) == sorted(COMMITTED)


def test_the_release_is_that_of_the_package_and_the_changelog():
    """The foot of the pages names the version of pyproject.toml and its date in CHANGELOG.md."""
    version, date = RELEASE
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    heading = re.search(r"(?m)^## (\S+) \((.+)\)$", (CHECKOUT / "CHANGELOG.md").read_text())
    assert version == project["version"] == heading[1]
    assert heading[2] in (date, "unreleased")
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", date)


def test_the_wheel_takes_every_document():
    """Each folder of the manual and each completion file has its place in the wheel."""
    settings = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))
    shared = settings["tool"]["hatch"]["build"]["targets"]["wheel"]["shared-data"]
    placed = {path for path in COMMITTED if path in shared or os.path.dirname(path) in shared}
    assert placed == set(COMMITTED) - {known.PATH}  # which is a module of the package
    assert shared["man/man1"] == "share/man/man1"
    assert shared["man/man7"] == "share/man/man7"


# What the pages say


def test_every_operation_and_command_has_a_page():
    """Operations and the commands beside them each have a page in section 1, ideas one in 7."""
    expected = {f"man/man1/memai-{op.name.replace(' ', '-')}.1" for op in OPERATIONS}
    expected |= {f"man/man1/{command.page}.1" for command in commands()}
    assert set(MANUAL) == expected | {"man/man1/memai.1", "man/man7/memai-concepts.7"}
    assert {"man/man1/memai-serve-mcp.1", "man/man1/memai-help.1"} <= expected


def test_a_page_has_its_sections_in_order(command):
    """NAME, SYNOPSIS, DESCRIPTION and the rest follow one another as in any manual."""
    heads = re.findall(r'(?m)^\.SH "?([A-Z ]+?)"?$', COMMITTED[f"man/man1/{command.page}.1"])
    assert [head for head in heads if head in SECTIONS] == SECTIONS


def test_every_option_of_a_command_is_on_its_page(command):
    """Each spelling of each option stands in OPTIONS, with its help, choices and default."""
    page = page_of(command)
    listed = page[page.index("\n.SH OPTIONS") : page.index("\n.SH EXAMPLES")]
    for option in options(command.node):
        for spelling in option.opts + option.secondary_opts:
            assert re.search(rf"(?m)^(\S.*, )?{re.escape(spelling)}(,| |$)", listed), spelling
        assert " ".join(option.help.split()) in " ".join(listed.split())
        if isinstance(option.type, click.Choice):
            assert ", ".join(option.type.choices) in " ".join(listed.split())
    for argument in command.arguments():
        assert pages._metavar(argument) in page[: page.index("\n.SH DESCRIPTION")]
        if command.operation:
            assert f"\n.TP\n{pages._metavar(argument)}\n" in listed


def test_every_example_of_the_table_is_on_its_page(command):
    """Each example stands on the page, memories named by uids, and can be copied."""
    page = page_of(command)
    for example in pages.examples(command):
        assert f"\n{example}\n" in page
        assert "{" not in example


def test_every_page_tells_exit_codes_and_variables(command):
    """EXIT STATUS has every code and ENVIRONMENT every variable, with its meaning."""
    page = " ".join(page_of(command).split())
    for code, meaning in EXIT_CODES:
        assert f".TP {code} {meaning}" in page
    for name, meaning in ENVIRONMENT:
        assert f".TP {name} {meaning}" in page


def test_the_page_of_the_program_lists_every_command():
    """memai(1) names each command with its summary, and the options of every command."""
    page = " ".join(plain(COMMITTED["man/man1/memai.1"]).split())
    for command in commands():
        assert f"{command.page}(1) {command.summary}" in page
    for option in options(program()):
        assert ", ".join(sorted(option.opts, key=lambda o: (len(o) > 2, o))) in page


def test_the_manual_has_no_page_for_nothing():
    """Every page that a page refers to is there, but for those of the system."""
    for path in MANUAL:
        for name, section in re.findall(r"\b([a-z][\w-]*)\(([1578])\)", plain(COMMITTED[path])):
            if name != "crontab":
                assert f"man/man{section}/{name}.{section}" in COMMITTED, path


def test_the_crontab_line_has_absolute_paths():
    """The line for cron in memai-backup(1) does not depend on a PATH or a working folder."""
    page = plain(COMMITTED["man/man1/memai-backup.1"])
    lines = re.findall(r"(?m)^\d+ \d+ \* \* \S+ +(.*)$", page)
    assert any("/memai backup " in line for line in lines)
    for line in lines:
        assert line.startswith("/")
        assert all(word.lstrip(">").startswith("/") for word in line.split() if "/" in word)


def blocks_of(path):
    """Return the example blocks of a page."""
    return [block.strip("\n") for block in re.findall(r"(?s)\.EX(.*?)\.EE", plain(COMMITTED[path]))]


def test_client_configurations_can_be_pasted():
    """The blocks for clients are JSON or TOML, start memai by its whole path, and serve."""
    found = []
    for block in blocks_of("man/man1/memai-serve-mcp.1"):
        if block.startswith("{"):
            settings = json.loads(block)
        elif block.startswith("["):
            try:
                settings = tomllib.loads(block)
            except tomllib.TOMLDecodeError:  # a unit of systemd
                continue
        else:
            continue
        for name in ("mcpServers", "servers", "mcp_servers"):
            for entry in settings.get(name, {}).values():
                found.append(name)
                if "command" in entry:
                    assert os.path.isabs(entry["command"])
                    assert entry["args"] == ["serve-mcp"]
    assert {"mcpServers", "servers", "mcp_servers"} <= set(found)


def test_property_lists_are_well_formed():
    """A block that is XML parses."""
    for path in MANUAL:
        for block in blocks_of(path):
            if block.startswith("<?xml"):
                ET.fromstring(block)


# Roff


@pytest.mark.parametrize("path", MANUAL)
def test_mandoc_has_nothing_to_say(path):
    """Mandoc finds neither errors nor warnings in a page."""
    done = subprocess.run(
        [tool("mandoc"), "-T", "lint", "-W", "warning", CHECKOUT / path],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("", "")


def test_groff_has_nothing_to_say():
    """Groff typesets every page without a warning."""
    done = subprocess.run(
        [tool("groff"), "-ww", "-man", "-Tutf8", "-z", *(CHECKOUT / path for path in MANUAL)],
        capture_output=True,
        text=True,
        check=False,
    )
    if "cannot load" in done.stderr or "can't open" in done.stderr:
        pytest.skip("groff is installed without its macros of man pages")
    assert done.stderr == ""


AWKWARD = [
    ".SH leading dot", "'br leading apostrophe", r"back\slash \fB \n \(aq \\", "--dry-run -n",
    "don't `quote` \"this\"", "~/.memai ^caret", "naïve café …", "日本語", "  two   blanks",
    "$HOME %h",
]  # fmt: skip


def test_a_renderer_shows_what_was_written():
    """Dots, apostrophes, backslashes, hyphens and other scripts come out of mandoc unchanged."""
    page = ".TH X 1 2026-01-01\n.SH NAME\nx \\- y\n.SH X\n" + roff.verbatim("\n".join(AWKWARD))
    done = subprocess.run(
        [tool("mandoc"), "-T", "utf8"], input=page, capture_output=True, text=True, check=True
    )
    shown = re.sub(".\b", "", done.stdout).splitlines()
    start = next(i for i, line in enumerate(shown) if line.strip() == AWKWARD[0])
    indent = shown[start].index(".")
    assert [line[indent:] for line in shown[start : start + len(AWKWARD)]] == AWKWARD


@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Zl", "Zp"])))
def test_escaped_text_is_ascii_and_can_be_read_back(text):
    """Whatever is escaped is ASCII without a bare hyphen, and stands for the text again."""
    escaped = roff.text(text)
    assert escaped.isascii()
    assert "-" not in escaped.replace("\\-", "")
    assert unescaped(escaped) == text


@given(st.lists(st.text(st.sampled_from("ab .'-\\`*~:\n"), max_size=30), max_size=5))
def test_no_text_becomes_a_request(lines):
    """A line of prose or of a block never begins as a line that roff obeys."""
    prose = "\n".join(lines)
    for made in (roff.paragraph(prose), *roff.verbatim(prose).split(".EX")[1:]):
        body = made.split("\n.EE")[0]
        assert not [line for line in body.splitlines() if line.startswith((".", "'"))]


@pytest.mark.parametrize(
    "markdown, expected",
    [
        ("one two", ".PP\none two"),
        ("One. Two, `three`: four.", ".PP\nOne.\nTwo, \\fBthree\\fR: four."),
        ("*name* of `a b`", ".PP\n\\fIname\\fR of \\fBa b\\fR"),
        ("with --dry-run", ".PP\nwith \\fB\\-\\-dry\\-run\\fR"),
        ("see memai-note(1)", ".PP\nsee \\fBmemai\\-note\\fR(1)"),
        ("2 * 3 * 4", ".PP\n2 * 3 * 4"),
        ("### Part\nof it", '.SS "Part"\nof it'),
        ("- one\n- two", ".IP \\(bu 2\none\n.IP \\(bu 2\ntwo"),
        ("term\n: means\n: this", ".TP\nterm\nmeans this"),
        ("    a\n\n      b", ".PP\n.RS 4\n.EX\na\n\n  b\n.EE\n.RE"),
    ],
)
def test_markdown_becomes_roff(markdown, expected):
    """Paragraphs, emphasis, items, definitions and blocks have their macros."""
    assert roff.blocks(markdown) == expected


def test_a_long_example_is_folded_as_a_shell_reads_it():
    """A command wider than a terminal goes on after a backslash; no argument is cut."""
    example = "memai x " + " ".join(f"--option{i} 'some value'" for i in "abcdefgh")
    assert pages.folded("memai list -n 5") == "memai list -n 5"
    lines = pages.folded(example.replace("option", "option-")).splitlines()
    assert len(lines) > 1
    assert all(len(line) <= 80 for line in lines)
    assert " ".join(line.removesuffix(" \\").strip() for line in lines).split() == (
        example.replace("option", "option-").split()
    )


# References

KNOWN = {"list": frozenset({"-n", "--limit"}), "domains rename": frozenset({"--dry-run"})}


@pytest.mark.parametrize(
    "prose",
    [
        "`memai list -n 5`",
        "    0 3 * * * /usr/bin/memai list --limit=2 >/dev/null",
        "    x | memai domains rename a b --dry-run; other --thing",
        "'memai list' and `from memai import operations`",
        "memai unknown is prose, and so is a `memai` alone",
        "    claude mcp add --scope user memai -- /home/me/memai list",
        "use --limit",
    ],
)
def test_right_references_pass(prose):
    """Commands and options that are there may be named, in code, service files and crontabs."""
    references.check("here", prose, KNOWN)


@pytest.mark.parametrize(
    "prose, complaint",
    [
        ("`memai lst`", "here: there is no command 'memai lst'"),
        ("    $(/opt/memai remember x)", "no command 'memai remember'"),
        ("see 'memai recover FILE'", "no command 'memai recover'"),
        ("`memai list --dry-run`", "'memai list' has no option --dry-run"),
        ("`memai domains rename -n`", "'memai domains rename' has no option -n"),
        ("use --explain", "no command has an option --explain"),
    ],
)
def test_a_wrong_reference_stops_the_generator(prose, complaint):
    """A command or option that is not there is an error that names it and the text."""
    with pytest.raises(references.UnknownReferenceError, match=complaint):
        references.check("here", prose, KNOWN)


def test_a_reference_to_no_page_stops_the_generator():
    """A page that is not there is an error."""
    references.check_pages("here", "memai-list(1)", frozenset({"memai-list.1"}))
    with pytest.raises(references.UnknownReferenceError, match=r"no page memai-lists\(1\)"):
        references.check_pages("here", "memai-lists(1)", frozenset({"memai-list.1"}))


def test_prose_for_no_page_stops_the_generator(tmp_path, monkeypatch):
    """A text whose command was renamed or removed does not vanish silently."""
    folder = shutil.copytree(pages.PROSE, tmp_path / "prose")
    (folder / "memai-gone.md").write_text("Gone.\n")
    monkeypatch.setattr(pages, "PROSE", str(folder))
    with pytest.raises(references.UnknownReferenceError, match="memai-gone"):
        pages.pages()
