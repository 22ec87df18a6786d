"""The script that makes the embedding model: its pure parts, and a small model made without torch.

Training needs torch, which is not installed where the tests run.
"""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memai import embedding
from memai.embedding import FOLDER, static
from memai.model import build
from memai.model.build_table import (
    BATCH,
    Bags,
    choose_pairs,
    inverse_frequency,
    principal_axes,
    quantise,
    ridge,
)
from memai.model.build_text import (
    Corpus,
    Pair,
    frequent_words,
    is_kept,
    is_stamped,
    paragraphs,
    read,
)

TEXTS = st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=6), min_size=1, max_size=8)
PACKAGED = Path(FOLDER)
WORDS = [a + b for a in "bdfgklmp" for b in ("ab", "eg", "im", "ol", "ut")]
DOCUMENT = """\
# Cache ##

The cache is kept in one file and read at start.
It has a second line, with ``markup``.

A second paragraph has no heading of its own.

Rules of `the` house
--------------------

    if cache: x = [1, 2, 3] + {4: "5"}  # {6}

.. note:: what a directive says to the machine is left out

:func:`Close` the door whenever you leave the house.

```
this is prose but it stands in a fence and is code

so is this sentence behind an empty line
```
"""


# Texts and vocabulary


def test_a_paragraph_comes_with_the_heading_above_it():
    """Prose is found without markup, code or directives, the first below a heading with it."""
    assert list(paragraphs(DOCUMENT)) == [
        (
            "Cache",
            "The cache is kept in one file and read at start. It has a second line, with markup.",
        ),
        ("", "A second paragraph has no heading of its own."),
        ("Rules of the house", "Close the door whenever you leave the house."),
    ]


def test_sources_give_texts_once_and_their_pairs(tmp_path):
    """Texts come without repetitions, pairs by source, and a repeated heading counts once."""
    (tmp_path / "docs").mkdir()
    for name in ("a.md", "b.rst", "c.png"):
        (tmp_path / "docs" / name).write_text(DOCUMENT)
    lines = [{"text": "A text."}, {"text": "A text."}, {"a": "word", "b": "what the word means"}]
    (tmp_path / "more.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n\n")
    corpus = read([tmp_path / "docs", tmp_path / "more.jsonl"])
    prose = [paragraph for _, paragraph in paragraphs(DOCUMENT)]
    assert corpus.texts == [*prose, "Rules of the house", "A text.", "what the word means"]
    assert [pair.a for pair in corpus.pairs[0]] == ["Cache", "Rules of the house"]
    assert corpus.pairs[1:] == [[Pair("word", "what the word means")]]


@pytest.mark.parametrize(
    ("text", "stamped"),
    [
        ("Ann (1:56 pm on 8 May, 2023): hello", True),
        ("2024-05-01 we met", True),
        ("We met at noon and spoke for an hour, until it was 13:05.", False),
        ("Version 2024 has 1:1 scale", False),
    ],
)
def test_texts_that_begin_with_a_date_stamp_are_told(text, stamped):
    """A time of day or date near the start makes a text unfit for the teacher."""
    assert is_stamped(text) == stamped


def test_the_packaged_vocabulary_is_what_the_rule_keeps():
    """Every token of the model in the package passes the rule, and other scripts do not."""
    vocabulary = json.loads((PACKAGED / "tokenizer.json").read_text(encoding="utf-8"))
    assert all(map(is_kept, vocabulary["model"]["vocab"]))
    dropped = ["[unused7]", "[CLS]", "[MASK]", "д", "##ия", "α", "한", "##ع", "א"]
    assert not any(map(is_kept, dropped))


def test_frequent_words_are_those_that_the_teacher_splits():
    """The most frequent come first, and what the teacher knows is not among them."""
    texts = ["json async json the json", "Async the the yaml"]
    assert frequent_words(texts, lambda word: word != "the", 2) == ["json", "async"]


def test_the_sorted_words_of_the_package_are_made_by_the_script():
    """vocab.idx in the package is what the script makes of tokenizer.json."""
    vocabulary = json.loads((PACKAGED / "tokenizer.json").read_text(encoding="utf-8"))
    made = build.sorted_words(vocabulary["model"]["vocab"])
    assert made == (PACKAGED / "vocab.idx").read_bytes()


# Numbers


@given(TEXTS, st.data())
def test_bags_are_their_texts(texts, data):
    """Any choice of texts is found again in a bag, and sums are those of the tokens' vectors."""
    bags = Bags(texts)
    chosen = data.draw(st.lists(st.integers(0, len(texts) - 1), min_size=1))
    tokens, starts = bags.take(np.array(chosen))
    found = np.split(tokens, starts[1:])
    assert [ids.tolist() for ids in found] == [texts[at] for at in chosen]
    vectors = np.arange(30, dtype=np.float32).reshape(10, 3)
    assert np.array_equal(bags.sums(vectors), [vectors[ids].sum(axis=0) for ids in texts])


@given(st.lists(st.integers(0, 10**9), min_size=2, max_size=20))
def test_frequent_tokens_weigh_less(counts):
    """Weights are between 0 and 1 and fall as counts rise."""
    weights = inverse_frequency(np.array(counts))
    assert ((weights > 0) & (weights <= 1)).all()
    assert (np.diff(weights[np.argsort(counts)]) <= 0).all()


@given(st.integers(0, 2**32 - 1))
def test_int8_rows_keep_their_direction_and_proportion(seed):
    """A row is off by at most half a step of its own scale; a row of zeros stays one."""
    rows = np.random.default_rng(seed).normal(size=(6, 8)).astype(np.float32)
    rows *= np.array([1e-4, 1, 1, 7, 1e3, 0], np.float32)[:, None]
    embeddings, scales = quantise(rows)
    step = np.abs(rows).max(axis=1, keepdims=True) / 127
    factor = np.abs(rows[4]).max() / 127 / scales[4]
    error = np.abs(embeddings * scales[:, None] * factor - rows)
    assert embeddings.dtype == np.int8
    assert (error <= 0.501 * step).all()


def test_axes_keep_what_varies_and_the_map_finds_what_is_linear():
    """Principal axes span the space the vectors are in, and ridge regression finds a linear map."""
    random = np.random.default_rng(3)
    vectors = random.normal(size=(500, 4)).astype(np.float32) @ random.normal(size=(4, 12))
    axes = principal_axes(vectors.astype(np.float32), 4)
    assert axes.T @ axes == pytest.approx(np.eye(4), abs=1e-5)
    assert vectors @ axes @ axes.T == pytest.approx(vectors, abs=1e-3)
    inputs = random.normal(size=(500, 6)).astype(np.float32)
    matrix = random.normal(size=(6, 3)).astype(np.float32)
    assert ridge(inputs, inputs @ matrix) == pytest.approx(matrix, abs=0.02)


def test_batches_of_pairs_are_of_one_source_or_of_all():
    """A batch has no repetitions, at most the size it should be, and a part for small sources."""
    random = np.random.default_rng(5)
    batches = [choose_pairs(random, [10, 90_000]) for _ in range(200)]
    assert all(sum(len(chosen) for _, chosen in batch) <= BATCH for batch in batches)
    for source, chosen in (part for batch in batches for part in batch):
        assert len(set(chosen.tolist())) == len(chosen)
        assert chosen.max() < [10, 90_000][source]
    assert 60 < sum(len(batch) == 1 for batch in batches) < 140
    assert sum(batch[0][0] == 0 for batch in batches) > 60


# A small model, from teacher to search


def small_teacher(random):
    """Return a teacher whose states are vectors of its tokens, whatever is around them."""
    entries = ["[PAD]", "[unused0]", "[UNK]", "[CLS]", "[SEP]", *WORDS, "д", *"xyz", "##x", "##y"]
    ids = {entry: id for id, entry in enumerate(entries)}
    tokenizer = {
        "added_tokens": [
            {
                "id": ids[name],
                "content": name,
                "single_word": False,
                "lstrip": False,
                "rstrip": False,
                "normalized": False,
                "special": True,
            }
            for name in ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
        ],
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": True,
            "strip_accents": None,
            "lowercase": True,
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 4], "cls": ["[CLS]", 3]},
        "model": {
            "type": "WordPiece",
            "unk_token": "[UNK]",
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": ids,
        },
    }
    states = random.normal(size=(len(entries), 12)).astype(np.float32)
    states[3:5] = 0
    return build.Teacher(json.dumps(tokenizer), lambda ids, _mask: states[ids])


def test_a_small_model_is_made_and_read(tmp_path):
    """A model made of a teacher and texts loads, and its vectors are near the teacher's."""
    random = np.random.default_rng(1)
    teacher = small_teacher(random)
    texts = [" ".join(random.choice([*WORDS, "xyx"], size=8)) for _ in range(400)]
    rows, tokenizer = build.build(teacher, Corpus(texts, []), build.Plan(words=1, dim=12, steps=0))
    vocabulary = json.loads(tokenizer)["model"]["vocab"]
    assert "xyx" in vocabulary
    assert rows.shape == (len(vocabulary), 12)
    assert not {"[unused0]", "[CLS]", "д"} & set(vocabulary)

    folder = tmp_path / "small"
    build.export(folder, rows, tokenizer)
    model = embedding.load(str(folder))
    assert isinstance(model, static.Static)
    asked = texts[:50]
    axes = principal_axes(teacher.texts(texts), 12)
    found = np.array([np.frombuffer(model.embed(text), "<f4") for text in asked])
    assert (found * (teacher.texts(asked) @ axes)).sum(axis=1).mean() > 0.8
    assert model.embed("д") is None

    beside = static.packaged("small", str(folder))
    assert beside.sha256 == model.sha256
    assert beside.embed(texts[0]) == model.embed(texts[0])
