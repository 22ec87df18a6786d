"""Make nearest.bin: for each token of the model its nearest tokens, for late interaction.

    python memai/model/build_nearest.py [FOLDER]

FOLDER (the one of this script, if not given) holds the model.safetensors and tokenizer.json of a
model; nearest.bin is written beside them. Half a minute on one core. The layout is described where
it is read, in memai/embedding/nearest.py.
"""

import json
import struct
import sys
from pathlib import Path

import numpy as np

from memai.embedding.bulk import rows_and_scales
from memai.embedding.nearest import LEVELS, NEAREST
from memai.embedding.table import Table

BLOCK = 1024


def nearest_tokens(rows: np.ndarray, left_out: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Return for each row the ids of its nearest other rows and their cosines, best first.

    `rows` is float32 (tokens, dim); the results are (tokens, NEAREST), uint16 and float32. The
    tokens `left_out` are nobody's neighbours.
    """
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    units = rows / np.maximum(lengths, np.finfo(np.float32).tiny)
    ids = np.zeros((len(rows), NEAREST), np.uint16)
    cosines = np.zeros((len(rows), NEAREST), np.float32)
    for start in range(0, len(rows), BLOCK):
        block = units[start : start + BLOCK] @ units.T
        at = np.arange(len(block))
        block[at, start + at] = -1.0
        block[:, left_out] = -1.0
        best = np.argpartition(-block, NEAREST, axis=1)[:, :NEAREST]
        found = np.take_along_axis(block, best, axis=1)
        order = np.lexsort((best, -found))  # by cosine, ties by id
        ids[start : start + BLOCK] = np.take_along_axis(best, order, axis=1)
        cosines[start : start + BLOCK] = np.take_along_axis(found, order, axis=1)
    return ids, cosines


def main(folder: Path) -> None:
    table = Table(str(folder))
    vocabulary = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    special = [token["id"] for token in vocabulary["added_tokens"]]
    rows, _ = rows_and_scales(table)
    ids, cosines = nearest_tokens(rows.astype(np.float32), special)
    levels = np.rint(np.clip(cosines, 0, 1) * LEVELS).astype(np.uint8)
    with (folder / "nearest.bin").open("wb") as file:
        file.write(struct.pack("<II", len(rows), NEAREST))
        file.write(ids.astype("<u2").tobytes())
        file.write(levels.tobytes())


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
