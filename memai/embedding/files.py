"""A model's files, opened read-only."""

import mmap
import os

DEFINING = ("config.json", "model.safetensors", "tokenizer.json")
"""The files that decide what a model's vectors are."""


class UnusableError(Exception):
    """A model's files are damaged."""


class UnknownKindError(UnusableError):
    """A model's files are missing, or of a kind this package does not read: model2vec may."""


def map_file(folder: str, name: str) -> mmap.mmap:
    """Return a file of a folder as read-only memory.

    Raises UnknownKindError when it is missing, UnusableError when it is empty, OSError when it
    cannot be read.
    """
    try:
        with open(os.path.join(folder, name), "rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except FileNotFoundError:
        raise UnknownKindError(f"the model's folder holds no {name}") from None
    except ValueError:  # what mmap says of an empty file
        raise UnusableError(f"the model's {name} is empty") from None


def fingerprint(folder: str) -> str:
    """Return the SHA-256 over the files of a folder that decide what its vectors are.

    It is the digest of what `sha256sum config.json model.safetensors tokenizer.json` prints there.
    Raises what `map_file` raises.
    """
    import hashlib

    lines = [f"{hashlib.sha256(map_file(folder, name)).hexdigest()}  {name}\n" for name in DEFINING]
    return hashlib.sha256("".join(lines).encode()).hexdigest()
