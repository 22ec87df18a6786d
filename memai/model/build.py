"""Make the embedding model in this folder, or one like it, from a teacher and texts.

    python -m memai.model.build TEACHER FOLDER CORPUS... [--texts N] [--words N] [--steps N]

TEACHER is a folder with all-MiniLM-L6-v2: its tokenizer.json, and its weights as model.onnx or in
the form transformers reads. FOLDER gets the model and its name, and must not be there yet. CORPUS
are files and folders of text, as `read` in build_text.py takes them. OMP_NUM_THREADS bounds the
processors used. README.md tells what the steps are for.
"""

import argparse
import json
import os
import struct
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from memai.embedding.files import fingerprint
from memai.model.build_table import (
    Bags,
    Floats,
    Ids,
    Lessons,
    Paired,
    Training,
    inverse_frequency,
    principal_axes,
    quantise,
    ridge,
    unit,
)
from memai.model.build_text import Corpus, Pair, frequent_words, is_stamped, make_tokenizer, read

TEACHER_TOKENS = 64
"""Tokens of a text that the teacher and the model see while the model is made: a short passage."""

TEACHER_BATCH = 32

Run = Callable[[Ids, Ids], NDArray[np.float32]]
"""From token ids and their mask, both (texts, length), to states, (texts, length, width)."""


class Plan(NamedTuple):
    """How large a model is made, and with how much work."""

    texts: int = 200_000
    """Texts that the teacher embeds, chosen at random."""

    words: int = 6_000
    """Frequent words that become tokens of their own."""

    dim: int = 256
    steps: int = 800
    seed: int = 0


class Teacher:
    """A transformer that gives a vector for each text: the mean of its states."""

    def __init__(self, tokenizer: str, run: Run) -> None:
        from tokenizers import Tokenizer

        self.tokenizer = tokenizer
        """The tokenizer.json, as text."""

        self._run = run
        self._read = Tokenizer.from_str(tokenizer)
        self._read.no_padding()
        self._read.enable_truncation(TEACHER_TOKENS)

    def splits(self, word: str) -> bool:
        """Tell whether a word is more than one token here."""
        return len(self._read.encode(word, add_special_tokens=False).ids) > 1

    def texts(self, texts: Sequence[str]) -> Floats:
        """Return the vectors of some texts, (texts, width), at unit length."""
        return unit(self._means([read.ids for read in self._read.encode_batch_fast(texts)]))

    def alone(self, tokens: Sequence[str]) -> Floats:
        """Return the vector of each token on its own, (tokens, width)."""
        start, end = self._read.encode("").ids  # BERT's [CLS] and [SEP]
        known = self._read.get_vocab()
        return self._means(
            [
                [start, known[token], end] if token in known else self._read.encode(token).ids
                for token in tokens
            ]
        )

    def _means(self, sequences: Sequence[Sequence[int]]) -> Floats:
        # By length, so that little is computed for padding.
        order = sorted(range(len(sequences)), key=lambda at: len(sequences[at]))
        found = []
        for first in range(0, len(order), TEACHER_BATCH):
            batch = [sequences[at] for at in order[first : first + TEACHER_BATCH]]
            ids = np.zeros((len(batch), len(batch[-1])), np.int64)
            mask = np.zeros_like(ids)
            for row, sequence in enumerate(batch):
                ids[row, : len(sequence)] = sequence
                mask[row, : len(sequence)] = 1
            states = self._run(ids, mask) * mask[:, :, None]
            found.append((states.sum(axis=1) / mask.sum(axis=1)[:, None]).astype(np.float32))
        means = np.concatenate(found)
        means[order] = means.copy()
        return means


def load_teacher(folder: Path) -> Teacher:
    """Return the teacher in a folder, run by onnxruntime if it has a model.onnx, else by torch."""
    run = _onnx_run if (folder / "model.onnx").exists() else _torch_run
    tokenizer = (folder / "tokenizer.json").read_text(encoding="utf-8")
    return Teacher(tokenizer, run(folder))


def _onnx_run(folder: Path) -> Run:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    # It has threads of its own, and takes 0 for as many as there are processors.
    options.intra_op_num_threads = int(os.environ.get("OMP_NUM_THREADS", "0"))
    session = onnxruntime.InferenceSession(
        folder / "model.onnx", options, providers=["CPUExecutionProvider"]
    )
    wanted = {tensor.name for tensor in session.get_inputs()}

    def run(ids: Ids, mask: Ids) -> NDArray[np.float32]:
        offered = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        inputs = {name: offered[name] for name in wanted}
        states: NDArray[np.float32] = session.run(None, inputs)[0]
        return states

    return run


def _torch_run(folder: Path) -> Run:
    import torch
    from transformers import AutoModel

    model = AutoModel.from_pretrained(folder, local_files_only=True).eval()

    def run(ids: Ids, mask: Ids) -> NDArray[np.float32]:
        with torch.inference_mode():
            answer = model(input_ids=torch.from_numpy(ids), attention_mask=torch.from_numpy(mask))
        states: NDArray[np.float32] = answer.last_hidden_state.numpy()
        return states

    return run


class Reader:
    """The tokeniser of the model that is made."""

    def __init__(self, tokenizer: str) -> None:
        from tokenizers import Tokenizer

        self._tokenizer = Tokenizer.from_str(tokenizer)
        self._unknown = self._tokenizer.token_to_id("[UNK]")
        vocabulary = self._tokenizer.get_vocab()
        self.entries = sorted(vocabulary, key=vocabulary.__getitem__)

    def read(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the first known tokens of each text."""
        return [
            [token for token in read.ids[:TEACHER_TOKENS] if token != self._unknown]
            for read in self._tokenizer.encode_batch_fast(texts, add_special_tokens=False)
        ]

    def pairs(self, pairs: Sequence[Pair]) -> Paired:
        """Return pairs as tokens, those with nothing to learn from left out."""
        sides = zip(self.read([a for a, _ in pairs]), self.read([b for _, b in pairs]), strict=True)
        kept = [(a, b) for a, b in sides if a and len(b) > 1]
        return Paired(Bags([a for a, _ in kept]), Bags([b for _, b in kept]))


def build(teacher: Teacher, corpus: Corpus, plan: Plan) -> tuple[Floats, str]:
    """Return the rows of a model, (tokens, dim), and its tokenizer.json."""
    random = np.random.default_rng(plan.seed)
    words = frequent_words(corpus.texts, teacher.splits, plan.words)
    tokenizer = make_tokenizer(teacher.tokenizer, words)
    reader = Reader(tokenizer)
    say(f"{len(reader.entries)} tokens, {len(words)} of them new words")

    vectors = teacher.alone(reader.entries)
    vectors = unit(vectors - vectors.mean(axis=0))
    say("embedded each token alone")

    read_texts = reader.read(corpus.texts)
    counts = np.bincount([token for ids in read_texts for token in ids], minlength=len(vectors))
    weights = inverse_frequency(counts)
    usable = [at for at, ids in enumerate(read_texts) if ids and not is_stamped(corpus.texts[at])]
    chosen = random.permutation(usable)[: plan.texts].tolist()
    texts = Bags([read_texts[at] for at in chosen])
    targets = teacher.texts([corpus.texts[at] for at in chosen])
    say(f"embedded {len(chosen)} texts of {len(corpus.texts)}")

    axes = principal_axes(targets, plan.dim)
    sums = unit(texts.sums(vectors * weights[:, None]))
    mapped = vectors @ ridge(sums, targets @ axes)
    mapped /= np.linalg.norm(mapped, axis=1).mean()
    reached = (unit(texts.sums(mapped * weights[:, None])) * unit(targets @ axes)).sum(axis=1)
    say(f"mapped to {plan.dim} dimensions; mean cosine with the teacher {reached.mean():.3f}")
    if not plan.steps:
        return mapped * weights[:, None], tokenizer

    pairs = [source for source in map(reader.pairs, corpus.pairs) if len(source.a.sizes)]
    say(f"training on {sum(len(source.a.sizes) for source in pairs)} pairs")
    lessons = Lessons(texts, targets, axes, pairs)
    return Training(mapped, weights, lessons, plan.seed).run(plan.steps), tokenizer


def export(folder: Path, rows: Floats, tokenizer: str) -> None:
    """Write a model's files into a folder."""
    from safetensors.numpy import save

    folder.mkdir(parents=True)
    embeddings, scales = quantise(rows)
    tensors: dict[str, NDArray[Any]] = {"embeddings": embeddings, "weights": scales}
    (folder / "model.safetensors").write_bytes(save(tensors))
    (folder / "tokenizer.json").write_text(tokenizer, encoding="utf-8")
    config = {
        "model_type": "model2vec",
        "architectures": ["StaticModel"],
        "tokenizer_name": "sentence-transformers/all-MiniLM-L6-v2",
        "hidden_dim": rows.shape[1],
        "normalize": True,
        "max_length": 512,
        "embedding_dtype": "int8",
        "license": "apache-2.0",
    }
    (folder / "config.json").write_text(json.dumps(config, indent=1), encoding="utf-8")
    vocabulary = json.loads(tokenizer)["model"]["vocab"]
    (folder / "vocab.idx").write_bytes(sorted_words(vocabulary))
    space = {"name": folder.name, "dim": rows.shape[1], "sha256": fingerprint(str(folder))}
    (folder / "space.json").write_text(json.dumps(space, indent=1) + "\n", encoding="utf-8")


def sorted_words(vocabulary: dict[str, int]) -> bytes:
    """Return a vocabulary in the layout that `SortedWords` of memai.embedding reads."""
    words = sorted((word.encode(), id) for word, id in vocabulary.items())
    ends = np.cumsum([len(word) for word, _ in words])
    numbers = [len(words), 0, *ends.tolist(), *(id for _, id in words)]
    return struct.pack(f"<{len(numbers)}I", *numbers) + b"".join(word for word, _ in words)


def say(what: str) -> None:
    """Report on a step, with the seconds of processor time used until now."""
    print(f"{time.process_time():6.0f} s  {what}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("teacher", type=Path, metavar="TEACHER")
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("corpus", type=Path, metavar="CORPUS", nargs="+")
    for field, default in Plan()._asdict().items():
        parser.add_argument(f"--{field}", type=int, default=default, metavar="N")
    given = vars(parser.parse_args())
    folder = given["folder"]
    if folder.exists():
        parser.error(f"{folder} is there already")
    plan = Plan(**{field: given[field] for field in Plan._fields})
    corpus = read(given["corpus"])
    say(f"read {len(corpus.texts)} texts and {sum(map(len, corpus.pairs))} pairs")
    export(folder, *build(load_teacher(given["teacher"]), corpus, plan))
    say(f"wrote {folder}")


if __name__ == "__main__":
    main()
