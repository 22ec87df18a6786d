"""Which schema a file has, and how it comes to the current one."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import apsw

from memai.settings import Settings
from memai.store import copies, schema
from memai.store.driver import roll_back, value
from memai.store.sums import checksum


def migrate(connection: apsw.Connection, settings: Settings) -> None:
    """Bring a file to the current schema, each step with its version in one transaction.

    A file that holds something is copied beside itself first, and the copy verified.
    """
    before = _user_version(connection)
    if before == 0:
        run_steps(connection, settings)
    elif before < schema.VERSION:
        with _alone(settings.path):
            before = _user_version(connection)
            if before < schema.VERSION:
                stem = settings.path.removesuffix(".db")
                copies.plain(connection, f"{stem}-schema-{before}-{copies.stamp()}.db")
                run_steps(connection, settings)


def run_steps(connection: apsw.Connection, settings: Settings) -> None:
    """Run the steps that are missing."""
    for number, step in enumerate(schema.STEPS, start=1):
        if _user_version(connection) >= number:
            continue
        try:
            connection.execute("BEGIN IMMEDIATE")
            # Read again under the lock: of many first opens only one makes the schema.
            if _user_version(connection) < number:
                connection.execute(step).fetchall()
                if number == 1:
                    connection.execute(f"PRAGMA application_id = {schema.APPLICATION_ID}")
                    _first_rows(connection, settings)
                connection.execute(f"PRAGMA user_version = {number}")
            connection.execute("COMMIT")
        except BaseException:
            roll_back(connection)
            raise


def _first_rows(connection: apsw.Connection, settings: Settings) -> None:
    """Say of a new store which model it wants, and give it an identity."""
    for row in (("model", settings.model), ("store", os.urandom(8).hex())):
        connection.execute("INSERT INTO meta VALUES(?, ?, ?)", (*row, checksum(row)))


def _user_version(connection: apsw.Connection) -> int:
    """Return the version of the schema in the file."""
    return int(value(connection, "PRAGMA user_version"))


@contextmanager
def _alone(path: str) -> Iterator[None]:
    """Let one process at a time copy and migrate: the copy of a large store is made once.

    A lock on a file of its own, which the system drops when its holder dies.
    """
    try:
        import fcntl
    except ImportError:  # Windows: each makes its own copy, and the transactions still decide
        yield
        return
    place = path + ".migrating"
    lock = os.open(place, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                time.sleep(0.02)  # not one long wait in the system, so that Ctrl-C is heard
        yield
        with suppress(FileNotFoundError):  # whoever waited has the lock of a file without a name
            os.unlink(place)
    finally:
        os.close(lock)
