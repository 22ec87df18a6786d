"""`python -m memai.documents [FOLDER]`: write the documents, by default into this checkout."""

import os
import sys

from memai.documents import write


def main(arguments: list[str]) -> int:
    """Write the documents below a folder; return the exit code."""
    checkout = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    folder = arguments[0] if arguments else checkout
    if not arguments and not os.path.exists(os.path.join(checkout, "pyproject.toml")):
        sys.stderr.write("This memai is installed and no checkout: name a folder.\n")
        return 2
    sys.stdout.write(f"{len(write(folder))} documents written.\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
