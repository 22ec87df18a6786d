"""Credentials that can be told by the name before them: `password=...`, `"apiKey": "..."`."""

import re
from collections.abc import Iterator
from functools import cache

from memai.credentials import values
from memai.credentials.shapes import Span

# A name that announces a credential, and a separator; the value is looked at in code.
_PAIR = r"""
    (?:
        (?P<key> (?: (?P<api>api) | access|secret|private|account|encryption|signing|master|auth
                   | shared|storage|subscription|service|deploy|webhook|client|app ) [ _.-]? key )
      | (?P<password> pass(?:word|wd|phrase|code)? | pwd )
      | (?P<secret> secret )
      | (?P<token> token | bearer | auth(?:orization)? )
    )
    (?: [_-]? (?:prod|production|staging|dev|test|live|value|[0-9]{1,3}) )?
    (?: [\\"'`*_)\]]{0,4} (?: [ ]\([^()\n]{1,30}\) )? [ \t]{0,8}
        (?: (?P<sign> :[ ]?[a-z]\w{0,15}(?:[ ]?\|[ ]?none)?[ ]?= | := | ={1,3}>?
                    | [:|>\uff1a\uff1d] )
          | (?<=[ ])(?P<is> is ) :? (?=[ ])
        ) [ \t]{0,8} [*_]{0,2} [ \t]{0,8} (?: (?<=[:*_])\r?\n[ \t]{0,8} )?
      | [ \t]{1,8}
    )
    (?P<quote> [brf]?\\?["'`] )?
    (?: (?:bearer|basic|token)[ ]{1,8} )?
"""

_ANNOUNCERS = ("pass", "pwd", "secret", "token", "key", "auth", "bearer")
_ANNOUNCER = "|".join(_ANNOUNCERS)
_LEAD = len("subscription-")  # the most that a name has before its announcer
_PAIR_KINDS = (
    ("api", "api-key"),
    ("key", "secret-key"),
    ("password", "password"),
    ("secret", "secret"),
    ("token", "token"),
)

# How much of a value is looked at to judge it. What is masked is the whole of it.
_JUDGED = 200

# Ends of sentences and of brackets in other scripts end a value without quotes.
_CLOSING = "\u3000-\u303f\uff08\uff09\uff0c\uff1b\u201c\u201d"


def find(text: str) -> Iterator[Span]:
    """Find values that look random, after a name that announces a credential."""
    flat = text.lower()
    if not any(word in flat for word in _ANNOUNCERS):
        return
    if len(flat) != len(text):  # a capital that becomes two letters: of these only ASCII counts
        flat = re.sub("[A-Z]+", lambda capitals: capitals[0].lower(), text)
    match = _next(text, flat, 0)
    while match:
        kind = next(kind for group, kind in _PAIR_KINDS if match[group])
        end = _value_end(text, match, kind) if _is_name(text, match) else 0
        if end:
            yield kind, match.end(), end
        # A value that is none may hold a pair of its own, and the end of one may be a name.
        match = _next(text, flat, max(match.end(), end - 40))


def _next(text: str, flat: str, at: int) -> re.Match[str] | None:
    """Return the first pair from a place on; `flat` is the text in lower case.

    It is looked for only around announcers: 10 microseconds for 300 characters with one, not 120.
    """
    pattern = re.compile(_PAIR, re.ASCII | re.IGNORECASE | re.VERBOSE)
    for announcer in re.compile(_ANNOUNCER).finditer(flat, at):
        # Up to its end, for another may begin inside it.
        for start in range(max(at, announcer.start() - _LEAD), announcer.end()):
            match = pattern.match(text, start)
            if match:
                return match
        at = announcer.end()
    return None


def _is_name(text: str, match: re.Match[str]) -> bool:
    """Whether the name is a word of its own, or the last of a compound (DB_PASSWORD, dbPassword).

    'compass', 'oauth', the verb 'pass' and the tokens that page through lists are no such names.
    """
    start = match.start()
    before = text[max(0, start - 40) : start]
    if match["token"] and re.search(r"(?i)(?:next|page|cursor|continuation|sync)[_-]?$", before):
        return False
    if match["sign"] == ":" and before[-1:] == ":":  # the middle of a resource's name
        return False
    # In a table the name fills a cell; elsewhere | joins types.
    if match["sign"] == "|" and not re.search(r"(?:^|\|)[\w *`-]*$", before, re.MULTILINE):
        return False
    if not match["sign"] and re.match(r"(?i)pass\b", match[0]):
        return False
    if not re.search(r"[A-Za-z]$", before):
        return True
    hump = text[start].isupper() and before[-1].islower()
    return hump or re.match(r"(?i)pass(?:w|ph)|secret|token", match[0]) is not None


def _value_end(text: str, match: re.Match[str], kind: str) -> int:
    """Find where the value after a name ends; 0 if it does not look like a credential."""
    start = match.end()
    quote = (match["quote"] or "")[-1:]
    run, whole = _runs(quote, {"|": "|", ">": "<"}.get(match["sign"], _CLOSING))
    judged = run.match(text, start)
    # A glance first: a text that repeats a name is judged at each.
    if not judged or not re.search(r"[0-9A-Z]", judged[0]):
        return 0
    value = _trimmed(judged[0], quote)
    if not values.is_credential(value, kind, bare=_is_bare(text, match)):
        return 0
    full = whole.match(text, start)
    return start + len(_trimmed(full[0] if full else value, quote))


@cache
def _runs(quote: str, stop: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Make the patterns of what is judged of a value, and of the whole of it."""
    if quote:
        run = rf"[^\s{quote}]"
        whole = rf"[^\n{quote}]++(?={quote})|{run}++"
    else:
        # Another pair of a query, a connection or a list ends a value; so does its cell.
        run = rf"(?:[^\s;&,{stop}]|[;&,](?! ?[a-z][\w .-]{{1,30}}[=:]))"
        whole = rf"{run}++"
    judged = rf"{run}{{1,{_JUDGED}}}+"
    return re.compile(judged, re.IGNORECASE), re.compile(whole, re.IGNORECASE)


def _is_bare(text: str, match: re.Match[str]) -> bool:
    """Whether only a space stands between name and value, and it is no option of a command."""
    if match["sign"] or match["is"]:
        return False
    return not re.search(r"--[\w-]{0,20}$", text[max(0, match.start() - 22) : match.start()])


def _trimmed(value: str, quote: str) -> str:
    """Take off what ends a sentence, or closes a bracket or an escaped quote around a value."""
    if quote:
        return value.rstrip("\\")
    return value.rstrip("\"'`\\.,;:]}>" + ("" if "(" in value else ")"))
