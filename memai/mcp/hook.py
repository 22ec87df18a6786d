"""`python -m memai.mcp.hook`: the pulse for clients whose hooks must write JSON.

Clients that take plain text run `memai pulse` itself. A hook that fails must not hold a session, so
what goes wrong is said in the same form.
"""

import json
import sys

from memai import open_store, operations
from memai.errors import MemaiError
from memai.mcp.answers import spoken

BYTES = 1_800  # hosts cut what is longer than about 2 KB
REMINDER = (
    "Before this session ends: save what was learned (note, anti_pattern), one checkpoint, "
    "and a handoff if someone else goes on."
)


def main(arguments: list[str]) -> None:
    """Write the pulse of the store that is named (else the default), and a reminder if asked."""
    remind = "--remind" in arguments
    path = next((a for a in arguments if a != "--remind"), None)
    try:
        store = open_store(path)
        text = spoken(operations.pulse(store, max_bytes=BYTES), BYTES)
    except MemaiError as error:
        text = f"memai: {error.message}"
    if remind:
        text += "\n" + REMINDER
    output = {"hookEventName": "SessionStart", "additionalContext": text}
    sys.stdout.write(json.dumps({"hookSpecificOutput": output}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
