"""Operations on copies of the store: making, listing and verifying them, and going back to one."""

import errno
import json
import os
import re
from collections.abc import Callable, Iterator, Sequence

from memai import when
from memai.errors import MemaiError, NoSpace, NotWritable, UsageError
from memai.records import BackedUp, Backup, Backups, Recovered
from memai.settings import expanded
from memai.store import Store
from memai.vocabulary import (
    BackupFile,
    BackupPlace,
    DryRun,
    Keep,
    KeepDaily,
    KeepWeekly,
    Target,
    Verify,
)

# What a backup is called that gets its name here; only these are ever removed.
_NAME = re.compile(r"memai-(\d{4})(\d\d)(\d\d)T\d{6}\.\d{6}Z\.db", re.ASCII)

# What a caller from elsewhere may call one.
_PLAIN = re.compile(r"\w[\w .-]{0,99}")

# Folders of backups that a store remembers, so that purge can name the copies in them.
_FOLDERS = 20


def backup(
    store: Store,
    target: Target | None = None,
    *,
    keep: Keep | None = None,
    keep_daily: KeepDaily | None = None,
    keep_weekly: KeepWeekly | None = None,
) -> BackedUp:
    """Write a verified copy of the store, safe while others write.

    It holds everything that was acknowledged before it began. A target ending in .db is the file;
    anything else is a folder, made if missing, that gets a file named after the time. Nothing is
    ever overwritten; with --keep older backups of this store are removed from the folder, once the
    new one is verified.
    """
    if not store.exists():
        raise UsageError(reason=f"There is no store at {store.settings.path} to back up yet.")
    retention = keep, keep_daily, keep_weekly
    path = _target(store, target)
    if any(retention) and not _NAME.fullmatch(os.path.basename(path)):
        raise UsageError(reason="--keep goes with a folder of backups, not with one file.")
    made = store.copy(path, store.caller.progress)
    notes = _remember(store, path)
    removed = _prune(store, path, *retention) if any(retention) else []
    return BackedUp(path, made.sha256 or "", made.memories or 0, tuple(removed), tuple(notes))


def backups(store: Store, place: BackupPlace | None = None, *, verify: Verify = False) -> Backups:
    """List backups with age, size and state, newest first.

    Without a place: every folder this store was backed up to. A backup is verified when it was
    made; --verify reads every byte again. Exit code 8 if one is not what it was.
    """
    found = []
    for path in _listed(store, place):
        try:
            found.append(store.inspect(path, deep=verify))
        except MemaiError as error:
            found.append(_unreadable(path, error))
    found.sort(key=lambda backup: (backup.created_at, backup.path), reverse=True)
    notes = () if found else ("There is no backup. 'memai backup' makes one.",)
    return Backups(tuple(found), notes)


def recover(store: Store, file: BackupFile, *, dry_run: DryRun = False) -> Recovered:
    """Go back to a backup: it replaces all that the store holds now.

    The backup is verified first and the store as it is copied to a file of its own. It happens at
    once or not at all, and processes that have the store open go on working. What was purged since
    the backup stays purged. To bring back one archived memory, use restore instead.
    """
    path = _expanded(file, "file")
    if dry_run:
        return store.recover(path, None)
    safety = _in_home(store, f"memai-before-recover-{_stamp()}.db")
    done = store.recover(path, safety)
    kept = (f"The store as it was is kept in {done.safety}.",) if done.safety else ()
    return done._replace(notes=(*done.notes, *kept, *_remember(store, path)))


def known(store: Store) -> list[Backup]:
    """Return the backups of this store that can be found, without reading them through."""
    found = []
    for path in _listed(store, None):
        try:
            found.append(store.inspect(path, deep=False))
        except MemaiError as error:
            found.append(_unreadable(path, error))
    return sorted(found, key=lambda backup: backup.created_at, reverse=True)


def holding(store: Store, uid: str) -> list[str]:
    """Return the backups that hold a memory, or may: those that cannot be read are named too."""
    found = []
    for path in _listed(store, None, unfinished=True):
        try:
            held = bool(store.holds(path, (uid,)))
        except MemaiError:
            held = True
        if held:
            found.append(path)
    return found


def keep_as_it_is(store: Store, what: str) -> str:
    """Copy the store before something is done to it, verified if it is sound; return the file."""
    path = _in_home(store, f"memai-before-{what}-{_stamp()}.db")
    try:
        return store.copy(path, store.caller.progress).path
    except MemaiError:
        return store.copy(path, verified=False).path


def _expanded(path: str, what: str) -> str:
    """Return a path as it is meant; raises UsageError for an empty one, as of an unset variable."""
    if not path.strip():
        raise UsageError(reason=f"The {what} is empty. Leave it out or name one.")
    return expanded(path)


def _target(store: Store, target: str | None) -> str:
    """Return the file a backup goes to; raises UsageError, NotWritable."""
    if target is None:
        path = _home(store)
    elif store.caller.remote:
        if not _PLAIN.fullmatch(target):
            raise UsageError(
                reason="Over MCP a backup has a plain name, without folders: at most 100 letters, "
                "digits, blanks and . _ -"
            )
        path = os.path.join(_home(store), target)
    else:
        path = _expanded(target, "target")
    if not path.endswith(".db"):
        path = os.path.join(path, f"memai-{_stamp()}.db")
    _make_folder(os.path.dirname(path))
    if os.path.lexists(path):
        raise UsageError(reason=f"{path} is there already, and a backup overwrites nothing.")
    return path


def _in_home(store: Store, name: str) -> str:
    """Return a file in the store's own folder of backups."""
    folder = _home(store)
    _make_folder(folder)
    return os.path.join(folder, name)


def _home(store: Store) -> str:
    return os.path.join(store.settings.home, "backups")


def _stamp() -> str:
    return when.now().replace(":", "").replace("-", "")


def _make_folder(folder: str) -> None:
    """Make a folder for its owner only where there is none; raises NotWritable."""
    if os.path.isdir(folder):
        return
    parent = os.path.dirname(folder)
    if parent != folder:
        _make_folder(parent)
    try:
        os.mkdir(folder, 0o700)
        os.chmod(folder, 0o700)  # whatever the umask
    except FileExistsError:
        return
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise NoSpace(path=folder) from None
        raise NotWritable(path=folder, reason=error.strerror or str(error)) from None


def _folders(store: Store) -> list[str]:
    """Return where backups of this store are, its own folder first."""
    try:
        remembered = json.loads(store.meta("backup_folders") or "[]")
    except (MemaiError, ValueError):  # a damaged store is when backups are wanted most
        remembered = []
    places = [_home(store), os.path.dirname(os.path.realpath(store.settings.path)), *remembered]
    return list(dict.fromkeys(place for place in places if isinstance(place, str)))


def _remember(store: Store, path: str) -> list[str]:
    """Keep in the store when and where it was last backed up; return remarks."""
    folders = [os.path.dirname(path), *_folders(store)[2:]]
    own = (_home(store), os.path.dirname(os.path.realpath(store.settings.path)))
    folders = [folder for folder in dict.fromkeys(folders) if folder not in own][:_FOLDERS]
    try:
        with store.writing():
            store.set_meta("last_backup", when.now())
            store.set_meta("backup_folders", json.dumps(folders) if folders else None)
    except MemaiError as error:  # the backup is good all the same
        return [f"The store could not note its backup: {error.message}"]
    return []


def _listed(store: Store, place: str | None, *, unfinished: bool = False) -> Iterator[str]:
    """Yield the files that are backups by their place and name."""
    if place is None:
        ends = (".db", ".partial") if unfinished else (".db",)
        for folder in _folders(store):
            yield from _databases(store, folder, ends)
        return
    if store.caller.remote:
        raise UsageError(reason="Over MCP only the store's own backups are listed.")
    path = _expanded(place, "place")
    if os.path.isdir(path):
        yield from _databases(store, path)
    elif os.path.exists(path):
        yield path
    else:
        raise UsageError(reason=f"There is no file or folder {path}.")


def _databases(store: Store, folder: str, ends: tuple[str, ...] = (".db",)) -> Iterator[str]:
    """Yield the databases in a folder, without the store itself."""
    live = os.path.realpath(store.settings.path)
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return
    for name in names:
        path = os.path.join(folder, name)
        if not name.endswith(ends) or not os.path.isfile(path):
            continue
        if os.path.realpath(path) != live and not (
            os.path.exists(live) and os.path.samefile(path, live)
        ):
            yield path


def _prune(
    store: Store, newest: str, keep: int | None, daily: int | None, weekly: int | None
) -> list[str]:
    """Remove the backups of this store beside a new one that no rule keeps; return them.

    The new one is verified, so a verified one always stays.
    """
    folder = os.path.dirname(newest)
    ours = _identity(store, newest)
    names = sorted(filter(_NAME.fullmatch, os.listdir(folder)), reverse=True)
    candidates = [name for name in names if _identity(store, os.path.join(folder, name)) == ours]
    kept = {os.path.basename(newest), *candidates[: keep or 0]}
    kept |= _last_of_each(candidates, daily or 0, lambda y, m, d: f"{y}{m}{d}")
    kept |= _last_of_each(candidates, weekly or 0, _week)
    removed = []
    for name in candidates:
        if name not in kept:
            path = os.path.join(folder, name)
            for end in ("", "-wal", "-shm", "-journal", ".json"):
                if os.path.exists(path + end):
                    os.unlink(path + end)
            removed.append(path)
    return removed


def _identity(store: Store, path: str) -> str | None:
    """Return which store a backup is of."""
    try:
        return store.inspect(path, deep=False).store
    except MemaiError:
        return None


def _last_of_each(
    newest_first: Sequence[str], many: int, period: Callable[[str, str, str], str]
) -> set[str]:
    """Return the last backup of each of the latest periods that have one."""
    latest: dict[str, str] = {}
    for name in newest_first:
        found = _NAME.fullmatch(name)
        if found:
            latest.setdefault(period(found[1], found[2], found[3]), name)
    return set(list(latest.values())[:many])


def _week(year: str, month: str, day: str) -> str:
    """Return the week of a day by ISO 8601."""
    from datetime import date

    of_year, week, _ = date(int(year), int(month), int(day)).isocalendar()
    return f"{of_year}-{week:02}"


def _unreadable(path: str, error: MemaiError) -> Backup:
    """Describe a file that could not even be looked at."""
    try:
        status = os.stat(path)
        size, modified = status.st_size, status.st_mtime_ns // 1000
    except OSError:
        size, modified = 0, 0
    return Backup(
        path=path,
        created_at=when.from_micros(modified),
        verified_at=None,
        bytes=size,
        memories=None,
        schema=None,
        store=None,
        sha256=None,
        state="damaged",
        reason=error.message,
    )
