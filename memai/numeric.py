"""The import of numpy, tamed: every function that uses it calls `prepare` before."""

import os
import sys

_CHOSEN = ("OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "OMP_NUM_THREADS")


def prepare() -> None:
    """Import numpy with one BLAS thread, unless the environment says how many.

    A second thread makes the import slower (140 ms instead of 79) and, on busy cores, a product of
    a vector and a matrix 8 ms instead of 0.17. OpenBLAS reads the variable while it is loaded, so
    it is taken back: what this process starts later decides for itself.
    """
    if "numpy" in sys.modules or any(name in os.environ for name in _CHOSEN):
        return
    os.environ[_CHOSEN[0]] = "1"
    try:
        import numpy  # noqa: F401, ICN001 - for its effect
    finally:
        os.environ.pop(_CHOSEN[0], None)
