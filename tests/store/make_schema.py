"""Write the fixture of the current schema: `python tests/store/make_schema.py`.

Run it once for each schema that a release brings, and never again for a schema that was released:
the files in tests/store/schemas are what released versions wrote.
"""

import gzip
import json
import os
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent.parent), str(HERE.parent)]

from durability.workload import EVERYTHING, opened, use_small_models  # noqa: E402

from memai import operations  # noqa: E402
from memai.store import Store, schema  # noqa: E402


def fill(store: Store) -> None:
    """Write something into every table."""
    one = operations.note(
        store,
        "PROJ-1042 fails at `foo_bar`.",
        tags=("ci", "Café"),
        domain="memai/PROJ-1042",
        key="k",
    ).uid
    other = operations.note(store, "重跑gen-itgc后 works, says メモリ.", domain="memai").uid
    operations.checkpoint(store, intent="Ship it", pursuing="tokens", session="s", domain="memai")
    operations.anti_pattern(store, pattern="Retry without a limit", instead="Back off")
    operations.reasoning(store, "One file is easy to back up. " * 80, source="a talk")
    gone = operations.handoff(store, "The mails are next.").uid
    operations.edit(store, one, "PROJ-1042 failed at `foo_bar`.", reason="fixed")
    operations.edit(store, one, add_tags=("old",))
    operations.link(store, other, "supersedes", one, note="newer")
    operations.link(store, one, "relates_to", other)
    operations.unlink(store, one, "relates_to", other)
    operations.confidence(store, other, "confirmed")
    operations.purge(store, gone, confirm=f"DELETE {gone}")


def lines(store: Store) -> list[str]:
    """Return everything in a store as text."""
    return [json.dumps(line, sort_keys=True) for line in operations.export(store)]


def main() -> None:
    """Make the file and what an export of it says."""
    use_small_models()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["MEMAI_HOME"] = folder
        store = opened(os.path.join(folder, "memories.db"))
        fill(store)
        path = operations.backup(store, os.path.join(folder, "copy.db")).path
        told = "\n".join(lines(store)) + "\n"
        assert store.count(EVERYTHING) == 5
        store.close()
        data = Path(path).read_bytes()
    base = HERE / "schemas" / f"schema-{schema.VERSION}"
    base.with_suffix(".db.gz").write_bytes(gzip.compress(data, mtime=0))
    base.with_suffix(".jsonl").write_text(told, encoding="utf-8")
    sys.stdout.write(f"{base}: {len(data)} bytes\n")


if __name__ == "__main__":
    main()
