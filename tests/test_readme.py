"""README.md: its commands exist, its first screen works, its picture is what memai prints."""

import re
from xml.etree import ElementTree as ET

import pytest
from readme.picture import PICTURE, picture
from support import CHECKOUT

from memai.documents.tree import commands

README = (CHECKOUT / "README.md").read_text("utf-8")
BLOCKS = re.findall(r"^```sh\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
LINES = [line for block in BLOCKS for line in block.splitlines() if "memai" in line]
# A command and its options, up to what ends it in a shell.
CALL = re.compile(r"(?:^|[\s/(])memai ([a-z].*?)(?=$|[|;&]|  #)")


@pytest.mark.parametrize("line", LINES)
def test_commands_and_options_exist(line: str) -> None:
    """What the README types is a command with these options."""
    known = {command.words for command in commands()}
    for call in CALL.findall(line):
        name = call.split()[0]
        assert name in known
        page = (CHECKOUT / "man" / "man1" / f"memai-{name}.1").read_text("utf-8")
        for option in re.findall(r"(?<=\s)--[a-z-]+", call):
            assert option.replace("-", "\\-") in page


def test_what_it_points_to_is_there() -> None:
    """Files that the README names by a link or as a test are in the repository."""
    links = [link for link in re.findall(r"\]\(([^)#:]+)\)", README) if "//" not in link]
    named = re.findall(r"(?<![\w./-])(?:tests|man|completions|memai)/[\w./-]*\w\b", README)
    assert links
    assert [path for path in (*links, *named) if not (CHECKOUT / path).exists()] == []


def test_the_picture_is_what_memai_prints() -> None:
    """The committed picture is the one that the program's answers give; it is well formed."""
    drawn = picture()
    assert PICTURE.read_text("utf-8") == drawn, "python tests/readme/picture.py draws it anew"
    assert ET.fromstring(drawn).tag.endswith("svg")


def test_the_reader_gets_through_it() -> None:
    """It has at most 250 lines, and begins with what memai is and how it is installed."""
    lines = README.splitlines()
    assert len(lines) <= 250
    assert any(line.startswith("pip install . && memai note") for line in lines[:25])
