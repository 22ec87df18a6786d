"""The picture of a terminal in README.md, drawn from what memai prints.

    python tests/readme/picture.py

writes terminal.svg beside this file anew. Clock and uids are those of a story, as in the
transcripts; all else is the program.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from xml.sax.saxutils import escape

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support import CHECKOUT
from test_transcripts import PROGRAM

from memai import terminal

PICTURE = Path(__file__).with_name("terminal.svg")
COLUMNS = 84
BEGUN = 1_772_359_200  # 2026-03-01T10:00:00Z
# What is typed, how many seconds after the line before, and whether the picture shows it.
STORY = (
    (
        0,
        (
            "memai anti_pattern -d shop --pattern 'Retrying a payment on timeout'"
            " --why-wrong 'The first call may have gone through'"
            " --instead 'Ask the provider by idempotency key'"
        ),
        False,
    ),
    (90_000, "memai note 'Refunds above 500 EUR need two approvals.' -d shop -t rules", False),
    (
        200_000,
        "memai note 'Staging resets its database every night at two.' -d shop -t staging",
        False,
    ),
    (90_000, "memai checkpoint -d shop --intent 'Ship the login' --pursuing 'E-mails'", False),
    (7_200, "memai search 'when are test records wiped' -n 2", True),
    (60, "memai search 'retry a payment after a timeout' -n 1", True),
    (60, "memai list -d shop", True),
)
COLOURS = {
    "31": "#ff7b72", "32": "#7ee787", "33": "#e3b341",
    "34": "#79c0ff", "35": "#d2a8ff", "36": "#56d4dd", "2": "#8b949e",
}  # fmt: skip
TEXT, GROUND = "#e6edf3", "#0d1117"
WIDE, HIGH, EDGE = 8.4, 20, 16  # pixels: a column, a line, the margin


def said() -> list[str]:
    """Run the story; return the lines of the terminal, colours as SGR codes."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "memai"
        program.write_text(
            PROGRAM.format(python=sys.executable, checkout=str(CHECKOUT), folder=folder)
        )
        program.chmod(0o755)
        (Path(folder) / "uids").write_text("0")
        environment = {
            "HOME": folder, "PATH": f"{folder}:/usr/bin:/bin", "TZ": "UTC", "LC_ALL": "C.UTF-8",
            "COLUMNS": str(COLUMNS), "TERM": "xterm",
        }  # fmt: skip
        lines, clock = [], BEGUN
        for seconds, typed, shown in STORY:
            clock += seconds
            (Path(folder) / "clock").write_text(str(clock))
            command = typed + (" --color always" if shown else "")
            done = subprocess.run(
                ["bash", "-c", command],
                env=environment,
                cwd=folder, capture_output=True, text=True, check=True,
            )  # fmt: skip
            if shown:
                lines += [f"$ {typed}", *done.stdout.rstrip("\n").split("\n"), ""]
    return lines[:-1]


def spans(line: str) -> str:
    """Return a line as SVG: each run of one colour is a tspan that begins at its column."""
    if line.startswith("$ "):
        line = f"\x1b[2m$ \x1b[0m{line[2:]}"
    parts, style, column = [], "", 0
    for piece in re.split(r"(\x1b\[[0-9;]*m)", line):
        if piece.startswith("\x1b["):
            codes = piece[2:-1].split(";")
            colour = next((COLOURS[code] for code in codes if code in COLOURS), TEXT)
            style = f'fill="{colour}"' + (' font-weight="bold"' if "1" in codes else "")
            continue
        for run in re.split(r"( {2,})", piece):  # cells stay in their columns in any font
            if run.strip():
                start = column + len(run) - len(run.lstrip())
                place = EDGE + round(start * WIDE, 1)
                parts.append(f'<tspan x="{place:g}" {style}>{escape(run.strip())}</tspan>')
            column += terminal.width(run)
    return "".join(parts)


def picture() -> str:
    """Return the picture as SVG."""
    lines = said()
    width = round(COLUMNS * WIDE) + 2 * EDGE
    height = len(lines) * HIGH + 2 * EDGE
    rows = "\n".join(
        f'<text x="{EDGE}" y="{EDGE + HIGH * number + 15}">{spans(line)}</text>'
        for number, line in enumerate(lines)
        if line
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" role="img">\n'
        "<title>memai in a terminal: two searches and a list</title>\n"
        f'<rect width="100%" height="100%" rx="8" fill="{GROUND}"/>\n'
        f"<g font-family=\"ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace\" "
        f'font-size="14" fill="{TEXT}">\n{rows}\n</g>\n</svg>\n'
    )


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
    sys.stdout.write(os.path.relpath(PICTURE) + "\n")
