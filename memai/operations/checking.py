"""What may be stored: every value a caller gives is looked at here, before anything is written."""

from __future__ import annotations

import os

from memai import when
from memai.errors import SecretFound, TooLarge, UsageError
from memai.folding import fold
from memai.lean import TYPE_CHECKING
from memai.limits import (
    MAX_CONTENT_BYTES,
    MAX_NAME_CHARACTERS,
    MAX_REASON_CHARACTERS,
    MAX_TAG_CHARACTERS,
    MAX_TAGS,
    NO_DOMAIN,
)
from memai.records import Where

if TYPE_CHECKING:
    from collections.abc import Iterable

    from memai.credentials import Credential
    from memai.records import Caller, Memory
    from memai.store import Store

# Crockford's base32, lower case: no i, l, o, u, so that a uid can be read aloud and typed.
UID_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
UID_LENGTH = 10  # 50 bits: among a million memories two collide with a chance of 1 in 2,000

_INVISIBLE = (
    r"[\s\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f"
    r"\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0]*"
)
_CONTROL = r"[\x00-\x1f\x7f-\x9f\u2028\u2029]"


def new_uid() -> str:
    """Return a random uid: os.urandom, because importing `secrets` costs more than a list."""
    return "".join(UID_ALPHABET[byte & 31] for byte in os.urandom(UID_LENGTH))


def content(value: str, what: str = "content", advice: str = "Write what is to be kept.") -> str:
    """Return the text unchanged; raises UsageError, TooLarge for what cannot be kept."""
    _characters(value, what)
    if _invisible(value):
        raise UsageError(reason=f"The {what} is empty. {advice}")
    size = len(value.encode())
    if size > MAX_CONTENT_BYTES:
        raise TooLarge(
            what=f"The {what}",
            size=f"{size:,} bytes",
            limit=f"{MAX_CONTENT_BYTES:,}",
            hint="Take the parts that matter, one by one.",
        )
    return value


def without_secrets(value: str, what: str, *, allow: bool, redact: bool) -> tuple[str, list[str]]:
    """Refuse or redact what looks like a credential; return the text and remarks.

    Raises SecretFound with kind and offset, never with the value.
    """
    if allow:
        return value, []
    from memai import credentials

    found = credentials.find(value)
    if not found:
        return value, []
    if redact:
        kinds = ", ".join(sorted({item.kind for item in found}))
        return credentials.redact(value, found), [f"Redacted in {what}: {kinds}."]
    hint = "Leave it out, store it with --redact, or as it is with --allow-secret."
    raise _found(found[0], what, hint)


def beside_content(memory: Memory, *, allow: bool) -> None:
    """Refuse what looks like a credential in a memory's short fields; raises SecretFound.

    They cannot be redacted: what is left of a key, a tag or a domain would be another one.
    """
    from memai import credentials

    for what in () if allow else ("source", "tags", "domain", "key", "session"):
        value = getattr(memory, what)
        found = credentials.find(", ".join(value) if what == "tags" else value) if value else []
        if found:
            raise _found(found[0], what, "Leave it out, or store it as it is with --allow-secret.")


def _found(credential: Credential, what: str, hint: str) -> SecretFound:
    """Return the error that names a credential by kind and place."""
    kind = credential.kind.replace("-", " ")
    return SecretFound(kind=kind, offset=credential.start, what=what, hint=hint)


def name(value: str | None, what: str, limit: int = MAX_NAME_CHARACTERS) -> str | None:
    """Return a short field trimmed; raises UsageError where it is empty or no line of text."""
    if value is None:
        return None
    _characters(value, what)
    trimmed = value.strip()
    if _invisible(trimmed):
        raise UsageError(reason=f"The {what} is empty. Leave it out or write one.")
    if limit <= MAX_NAME_CHARACTERS and not _is_line(trimmed):
        raise UsageError(reason=f"The {what} must be one line without control characters.")
    if len(trimmed) > limit:
        raise TooLarge(
            what=f"The {what}", size=f"{len(trimmed):,} characters", limit=f"{limit:,}", hint=""
        )
    return trimmed


def uids(store: Store, values: Iterable[str]) -> tuple[str, ...]:
    """Return the whole uids of some memories, each once.

    Raises UsageError where there are none, NoSuchMemory, AmbiguousUid.
    """
    whole = tuple(dict.fromkeys(store.resolve(value) for value in values))
    if not whole:
        raise UsageError(reason="No memory was named. Give one uid or more.")
    return whole


def reason(value: str | None, what: str = "reason", *, allow: bool = False) -> str | None:
    """Return a reason or remark trimmed; raises SecretFound unless credentials are allowed."""
    kept = name(value, what, MAX_REASON_CHARACTERS)
    if kept is not None and not allow:
        from memai import credentials

        found = credentials.find(kept)
        if found:
            raise _found(found[0], what, "Leave it out.")
    return kept


def tags(values: Iterable[str] | None, what: str = "tags") -> tuple[str, ...]:
    """Return tags trimmed, without repeats (compared folded), in the order given."""
    kept: dict[str, str] = {}
    for value in values or ():
        trimmed = name(value, "tag", MAX_TAG_CHARACTERS)
        if trimmed is not None:
            kept.setdefault(fold(trimmed), trimmed)
    if len(kept) > MAX_TAGS:
        raise TooLarge(what=f"The {what}", size=f"{len(kept)} entries", limit=MAX_TAGS, hint="")
    return tuple(kept.values())


def domain(value: str | None, store: Store) -> str | None:
    """Return the domain of a write: what was said, else the domain at hand, '-' being none.

    It is spelled as the store's policy says.
    """
    chosen = name(value if value is not None else store.caller.domain, "domain")
    if chosen is None or chosen == NO_DOMAIN:
        return None
    from memai.operations.spelling import POLICY, spelled

    return spelled(_domain(chosen), store.meta(POLICY))


def where(
    caller: Caller,
    *,
    domain: str | None = None,
    here: bool = False,
    type: str | None = None,
    session: str | None = None,
    tags: Iterable[str] | None = None,
    status: str | None = None,
    since: str | None = None,
    until: str | None = None,
    everything: bool = False,
) -> Where:
    """Return the filter of a read; an empty or malformed value is refused, never widened."""
    scope = name(domain, "domain")
    if scope is None and here:
        if caller.domain is None:
            raise UsageError(
                reason="There is no domain at hand: say --domain, set MEMAI_DOMAIN, write one "
                "into a file .memai, or work in a git repository."
            )
        scope = caller.domain
    if scope is not None and scope != NO_DOMAIN:
        scope = _domain(scope)
    return Where(
        domain=scope,
        type=type,
        session=name(session, "session"),
        tags=tuple(fold(tag) for tag in _tags_filter(tags)),
        status=status,
        since=None if since is None else when.since(since),
        until=None if until is None else when.until(until),
        current=not everything and status in (None, "active"),
    )


def _tags_filter(values: Iterable[str] | None) -> tuple[str, ...]:
    """Check the tags of a filter (the word `tags` is taken by a parameter in `where`)."""
    return tags(values)


def _domain(value: str) -> str:
    """Return a domain as it is kept; a path of parts separated by slashes."""
    parts = [part.strip() for part in value.split("/")]
    if not all(parts) or value == NO_DOMAIN:
        raise UsageError(
            reason=f"The domain '{value}' has an empty part. Write it like 'memai/PROJ-1042'."
        )
    return "/".join(parts)


def _characters(value: str, what: str) -> None:
    """Refuse characters that no store keeps: NUL and halves of surrogate pairs."""
    if "\0" in value:
        raise UsageError(
            reason=f"The {what} holds a NUL character at {value.index(chr(0))}. Take it out."
        )
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise UsageError(
            reason=f"The {what} is not valid Unicode: a lone surrogate or a broken byte at "
            f"character {error.start}. Send it as UTF-8."
        ) from None


def _invisible(value: str) -> bool:
    """Whether a text holds nothing that is seen."""
    if value.isascii():
        return not value.strip()
    import re

    return re.fullmatch(_INVISIBLE, value) is not None


def _is_line(value: str) -> bool:
    """Whether a text holds no control character and no break of lines."""
    if value.isprintable():
        return True
    import re

    return re.search(_CONTROL, value) is None
