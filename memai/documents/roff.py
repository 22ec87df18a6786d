"""Roff, the language of man pages: from plain text, and from a small part of Markdown.

The macros are those of man(7) as groff and mandoc know them. Prose has paragraphs, `##` headings,
`###` subheadings, blocks indented by four blanks (kept as they are), items that begin with `- `,
and definitions: a line, then lines that begin with `: `. Inside a line, `` `code` `` is bold and
`*emphasis*` italic; options and names of pages such as memai-note(1) are bold without being marked.
"""

import re
import textwrap
from collections.abc import Iterable

_WIDTH = 79

# Hyphens are always minus signs: a copied option or name must work when it is pasted.
_ESCAPES = str.maketrans(
    {"\\": r"\(rs", "-": r"\-", "'": r"\(aq", "`": r"\(ga", "^": r"\(ha", "~": r"\(ti"}
)
_INLINE = re.compile(
    r"`(?P<code>[^`]+)`"
    r"|(?<![\w*])\*(?P<emphasis>[^*\s][^*]*)\*(?!\w)"
    r"|(?P<page>\b[a-z][\w-]*)\((?P<section>[1578])\)"
    r"|(?<![\w-])(?P<option>--?[a-z][a-z-]*)"
)
_SENTENCE_END = re.compile(r"(?<=[.?!])\s+(?=\S)")


def text(plain: str) -> str:
    """Return plain text as roff, to stand anywhere but in the arguments of a macro."""
    escaped = plain.translate(_ESCAPES)
    return "".join(c if c.isascii() else f"\\[u{ord(c):04X}]" for c in escaped)


def bold(plain: str) -> str:
    """Return plain text in bold: what is typed as it stands."""
    return f"\\fB{text(plain)}\\fR"


def italic(plain: str) -> str:
    """Return plain text in italics: what stands for something else."""
    return f"\\fI{text(plain)}\\fR"


def inline(prose: str) -> str:
    """Return a line of prose with its marks carried out."""
    parts, at = [], 0
    for match in _INLINE.finditer(prose):
        parts.append(text(prose[at : match.start()]))
        at = match.end()
        if match["code"] or match["option"]:
            parts.append(bold(match["code"] or match["option"]))
        elif match["emphasis"]:
            parts.append(italic(match["emphasis"]))
        else:
            parts.append(f"{bold(match['page'])}({match['section']})")
    return "".join(parts) + text(prose[at:])


def section(name: str, body: str) -> str:
    """Return a section.

    The first paragraph below a heading needs no macro of its own; mandoc calls it superfluous.
    """
    head = f'.SH "{text(name)}"' if " " in name else f".SH {text(name)}"
    return head + "\n" + body.removeprefix(".PP\n")


def subheading(name: str) -> str:
    """Return the head of a part of a section."""
    return f'.SS "{text(name)}"'


def paragraph(prose: str) -> str:
    """Return filled lines of a paragraph, each sentence on a line of its own.

    So the sources of pages change where the text did, and nowhere else.
    """
    lines: list[str] = []
    for sentence in _SENTENCE_END.split(inline(" ".join(prose.split()))):
        lines += textwrap.wrap(sentence, _WIDTH, break_long_words=False, break_on_hyphens=False)
    return "\n".join(map(_guarded, lines))


def verbatim(block: str) -> str:
    """Return a block whose lines and blanks stay as they are."""
    lines = "\n".join(_guarded(text(line)) for line in block.splitlines())
    return f".PP\n.RS 4\n.EX\n{lines}\n.EE\n.RE"


def definition(term: str, prose: str) -> str:
    """Return a term (already roff) with what it means indented below it."""
    return f".TP\n{_guarded(term)}\n{paragraph(prose)}"


def blocks(prose: str) -> str:
    """Return a piece of Markdown, without `##` headings, as roff."""
    made = "\n".join(_block(block) for block in _split(prose))
    return re.sub(r"(?m)^(\.SS .*)\n\.PP$", r"\1", made)


def sections(prose: str) -> dict[str, str]:
    """Return the Markdown below each `##` heading; what stands before the first is under ''."""
    found = {"": ""}
    name = ""
    for line in prose.splitlines(keepends=True):
        if line.startswith("## "):
            name = line[3:].strip()
            found[name] = ""
        else:
            found[name] += line
    return found


def _split(prose: str) -> Iterable[str]:
    """Yield the blocks of a text; indented ones keep the blank lines inside them."""
    held: list[str] = []
    apart = re.sub(r"(?m)^### .*$", r"\g<0>\n", prose)  # a heading needs no blank line after it
    for block in re.split(r"\n(?:[ \t]*\n)+", apart.strip("\n")):
        if block.startswith("    "):
            held.append(block)
            continue
        if held:
            yield "\n\n".join(held)
            held = []
        if block.strip():
            yield block
    if held:
        yield "\n\n".join(held)


def _block(block: str) -> str:
    """Return one block as roff."""
    if block.startswith("    "):
        return verbatim(textwrap.dedent(block))
    if block.startswith("### "):
        return subheading(block[4:].strip())
    if block.startswith("- "):
        items = re.split(r"\n(?=- )", block)
        return "\n".join(f".IP \\(bu 2\n{paragraph(item[2:])}" for item in items)
    term, newline, rest = block.partition("\n")
    if newline and rest.startswith(": "):
        return definition(inline(term), re.sub(r"(?m)^: ?", "", rest))
    return f".PP\n{paragraph(block)}"


def _guarded(line: str) -> str:
    """Return a line that no program takes for a request."""
    return "\\&" + line if line.startswith((".", "'")) else line
