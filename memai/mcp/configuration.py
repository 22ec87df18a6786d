"""Settings that belong to others: changed in one place, copied first, never half-written."""

import json
import os
import re
import tempfile
import time
from collections.abc import Mapping
from typing import Any

from memai.errors import NotWritable, Refused

_HEADER = re.compile(r"\s*\[")


def read(path: str) -> str:
    """Return the text of a file, empty where there is none; raises NotWritable, Refused."""
    try:
        with open(path, encoding="utf-8-sig") as file:
            return file.read()
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise NotWritable(path=path, reason=error.strerror or "it cannot be read") from None
    except UnicodeDecodeError:
        raise Refused(reason=f"{path} is not UTF-8. It was left untouched.") from None


def json_object(text: str, path: str) -> dict[str, Any]:
    """Return the settings in a text, {} for an empty one; raises Refused."""
    if not text.strip():
        return {}
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise Refused(
            reason=f"{path} is not plain JSON (comments, perhaps). It was left untouched: "
            "'memai setup print' shows what to write into it."
        )
    return value


def json_text(value: Mapping[str, Any], before: str) -> str:
    """Return settings as text, indented as they were before."""
    found = re.search(r"\n([ \t]+)\S", before)
    indent = found[1] if found else "  "
    return json.dumps(value, ensure_ascii=False, indent=indent) + "\n"


def with_table(text: str, table: str, name: str, entry: Mapping[str, Any] | None, path: str) -> str:
    """Return TOML with one table below another replaced, added, or (None) taken away.

    Everything else stays as it is, comments too. Raises Refused where the file is written in a way
    that this would break.
    """
    import tomllib

    try:
        before = tomllib.loads(text)
        changed = _without(text, f"{table}.{name}")
        others = {k: v for k, v in before.get(table, {}).items() if k != name}
        if entry is not None:
            others[name] = dict(entry)
            lines = [f"{_key(key)} = {_toml(value)}" for key, value in entry.items()]
            block = "\n".join([f"[{table}.{name}]", *lines]) + "\n"
            changed = (changed.rstrip() + "\n\n" if changed.strip() else "") + block
        after = tomllib.loads(changed)
        # An empty table that was there before may be gone with its last entry.
        if {**after, table: after.get(table, {})} == {**before, table: others}:
            return changed
    except (tomllib.TOMLDecodeError, TypeError, AttributeError):
        pass
    raise Refused(
        reason=f"{path} is written in a way that cannot be changed safely. It was left untouched: "
        "'memai setup print' shows what to write into it."
    )


def _without(text: str, table: str) -> str:
    """Return TOML without the lines of a table and of those below it."""
    kept, ours = [], False
    for line in text.splitlines(keepends=True):
        if _HEADER.match(line):
            header = line.strip().lstrip("[").partition("]")[0].replace('"', "").replace(" ", "")
            ours = header == table or header.startswith(table + ".")
        if not ours:
            kept.append(line)
    return "".join(kept)


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else json.dumps(key, ensure_ascii=False)


def _toml(value: Any) -> str:
    """Return a value in TOML; dates and their like raise TypeError, and the file stays."""
    if isinstance(value, bool | int | float | str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, dict):
        inner = ", ".join(f"{_key(key)} = {_toml(item)}" for key, item in value.items())
        return "{ " + inner + " }" if inner else "{}"
    raise TypeError(type(value).__name__)


def write(path: str, text: str) -> str | None:
    """Put a text in the place of a file and return its copy, None where there was no file.

    The copy stands beside it. Links are followed, the mode stays. Raises NotWritable.
    """
    real = os.path.realpath(path)
    folder = os.path.dirname(real)
    try:
        os.makedirs(folder, exist_ok=True)
        copy = None
        mode = 0o600  # such files may hold keys of other servers
        if os.path.exists(real):
            mode = os.stat(real).st_mode & 0o777
            copy = f"{real}.memai-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}"
            with open(real, "rb") as old:
                _put(folder, copy, old.read(), mode)
        _put(folder, real, text.encode(), mode)
    except OSError as error:
        raise NotWritable(path=path, reason=error.strerror or "it cannot be written") from None
    return copy


def _put(folder: str, path: str, data: bytes, mode: int) -> None:
    """Write a file whole or not at all."""
    descriptor, temporary = tempfile.mkstemp(dir=folder, prefix=".memai-")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, mode)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
