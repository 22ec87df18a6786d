"""`python -m memai.documents [FOLDER]`: write the documents, by default into this checkout."""

import os
import sys

from memai.documents import write

if __name__ == "__main__":
    checkout = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    written = write(sys.argv[1] if len(sys.argv) > 1 else checkout)
    sys.stdout.write(f"{len(written)} documents written.\n")
