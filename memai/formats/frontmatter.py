"""The front matter of a Markdown file: YAML between two lines of three hyphens.

Read from the events of the YAML parser and not by a loader: aliases (which turn a few bytes into
gigabytes), tags (which name types of a program) and double keys are refused, and plain words mean
what YAML 1.2 says: `no` and `2026-03-29` are texts.
"""

import json
import re
from typing import Any

from memai.formats import MAX_DEPTH, Broken

MAX_BYTES = 512_000

_FENCE = re.compile(r"---[ \t]*(\r?\n)")
_END = re.compile(r"^(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.MULTILINE)
_INTEGER = re.compile(r"[-+]?(?:0|[1-9]\d{0,17})", re.ASCII)
_FLOAT = re.compile(r"[-+]?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d{1,3})?", re.ASCII)
_WORDS = {"": None, "~": None, "null": None, "Null": None, "NULL": None}
_TRUTHS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}

# What needs no quotes: it begins with a letter and no reader takes it for anything else.
_PLAIN = re.compile(r"[^\W\d_](?:[\w ./@+()-]*[\w./@+)-])?")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", re.ASCII)
_RESERVED = frozenset(("true", "false", "null", "yes", "no", "on", "off", "y", "n", "inf", "nan"))
_UNPRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


def split(text: str) -> tuple[str | None, str]:
    """Return the front matter of a text, None if there is none, and what follows it.

    Where a tool has turned the lines of a file to those of Windows, they are turned back.
    """
    begin = _FENCE.match(text)
    end = _END.search(text, begin.end()) if begin else None
    if begin is None or end is None:
        return None, text
    head, body = text[begin.end() : end.start()], text[end.end() :]
    if begin[1] == "\r\n":
        return head.replace("\r\n", "\n"), body.replace("\r\n", "\n")
    return head, body


def ends(text: str) -> int:
    """Return where the front matter of a text ends, 0 if there is none."""
    begin = _FENCE.match(text)
    end = _END.search(text, begin.end()) if begin else None
    return end.start() if end else 0


def loads(head: str) -> Any:
    """Return what a front matter says, in the types of JSON; raises Broken."""
    import yaml  # 20 ms, for those who exchange Markdown

    if len(head) > MAX_BYTES:
        raise Broken(f"its front matter is longer than {MAX_BYTES:,} characters")
    loader: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    try:
        events = iter(list(yaml.parse(head, Loader=loader)))
        next(events)  # the stream begins
        event = next(events)
        if isinstance(event, yaml.StreamEndEvent):
            return None
        value = _value(events, next(events), 1)
        next(events)  # the document ends
        if not isinstance(next(events), yaml.StreamEndEvent):
            raise Broken("its front matter holds several documents")
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" in line {mark.line + 2}" if mark is not None else ""
        problem = getattr(error, "problem", None) or "it cannot be read"
        raise Broken(f"its front matter is no YAML{where}: {problem}") from None
    return value


def _value(events: Any, event: Any, depth: int) -> Any:
    """Return the value that begins with an event; depth is bounded, so recursion is."""
    kind = type(event).__name__
    if kind == "AliasEvent" or getattr(event, "anchor", None) is not None:
        raise Broken("its front matter uses anchors or aliases")
    if getattr(event, "tag", None) not in (None, "!"):
        raise Broken("its front matter names types of a program")
    if kind == "ScalarEvent":
        return _scalar(event.value) if event.implicit[0] else str(event.value)
    if depth > MAX_DEPTH:
        raise Broken(f"its front matter is nested more than {MAX_DEPTH} levels deep")
    if kind == "SequenceStartEvent":
        items = []
        while type(event := next(events)).__name__ != "SequenceEndEvent":
            items.append(_value(events, event, depth + 1))
        return items
    record: dict[str, Any] = {}
    while type(event := next(events)).__name__ != "MappingEndEvent":
        key = _value(events, event, depth + 1)
        if isinstance(key, list | dict):
            raise Broken("its front matter has a key that is no word")
        name = event.value
        if name in record:
            raise Broken(f"its front matter says '{name[:60]}' twice")
        record[name] = _value(events, next(events), depth + 1)
    return record


def _scalar(text: str) -> Any:
    """Return what a word without quotes means in YAML 1.2."""
    if text in _WORDS:
        return None
    if text in _TRUTHS:
        return _TRUTHS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text):
        value = float(text)
        return value if value - value == 0 else text
    return text


# --- writing ------------------------------------------------------------------------------------


def dumps(record: dict[str, Any]) -> str:
    """Return fields as front matter without its fences: one line each, lists of words below."""
    lines = []
    for name, value in record.items():
        if isinstance(value, list) and value:
            lines.append(f"{_word(name)}:\n" + "".join(f"  - {_inline(v)}\n" for v in value))
        else:
            lines.append(f"{_word(name)}: {_inline(value)}\n")
    return "".join(lines)


def _inline(value: Any) -> str:
    """Return a value on one line."""
    if isinstance(value, str):
        return _word(value)
    if isinstance(value, dict):
        pairs = ", ".join(f"{_quoted(k)}: {_inline_json(v)}" for k, v in value.items())
        return "{" + pairs + "}"
    return _inline_json(value)


def _inline_json(value: Any) -> str:
    """Return a value as JSON, which is YAML as well, with what YAML lets nobody write escaped."""
    text = json.dumps(value, ensure_ascii=False)
    return _UNPRINTABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _word(value: str) -> str:
    """Return a text without quotes where nobody can take it for anything else."""
    if _TIME.fullmatch(value):
        return value
    if _PLAIN.fullmatch(value) and "  " not in value and value.lower() not in _RESERVED:
        return value
    return _quoted(value)


def _quoted(value: str) -> str:
    return _inline_json(value)
