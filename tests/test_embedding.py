"""Text to vector: the model in the package, models in folders, and what is no model."""

import json
import math
import os
import shutil
import struct
import subprocess
import sys
import unicodedata
from array import array
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from memai import embedding
from memai.embedding import NoModel, static
from memai.embedding import bulk as bulk_room
from memai.embedding.bulk import Bulk
from memai.embedding.files import fingerprint
from memai.embedding.wordpiece import MAX_TOKENS, SortedWords, read_vocabulary

FOLDER = Path(embedding.FOLDER)

AWKWARD = [
    "When did Caroline go to the support group?",
    "naïve café — Zürich's “quoted” text…",
    "JWT/OAuth2: use `pip install -U foo==1.2.3` && ./run.sh --dry-run",
    "日本語テキスト and 中文 mixed with English words",
    "user@example.com #42 (v2.0) $5 ~100% a_b-c C++ .NET",
    "Ünïcödé STRASSE ß İstanbul ﬁne ΟΔΟΣ",
    "supercalifragilisticexpialidocious antidisestablishmentarianism",
    "form\x0cfeed, nul\x00byte, next\x85line, zero\u200bwidth, \u2028 separator",
    "thin\u2009space no\xa0break ideographic\u3000space",
    "cafe\u0301 in two characters, café in one",
    "release 🎉 done✅ ok",
    "x" * 100 + " " + "y" * 101,
    "重跑gen-itgc后 the job passed",
    "tab\tand\r\nnewline\n",
    "",
    "   ",
    "?!",
]


@pytest.fixture(scope="module")
def model():
    """Return the model in the package."""
    loaded = embedding.load()
    assert not isinstance(loaded, NoModel)
    return loaded


@pytest.fixture(scope="module")
def bulk(model):
    """Return the model in the package as numpy and tokenizers hold it."""
    return Bulk(str(FOLDER), model._table)


@pytest.fixture(scope="module")
def tokens_of():
    """Return what gives the known tokens of a text by the package tokenizers alone."""
    tokenizer = Tokenizer.from_file(str(FOLDER / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.encode_special_tokens = True
    unknown = tokenizer.token_to_id("[UNK]")

    def tokens(text):
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        return [token for token in ids if token != unknown][:MAX_TOKENS]

    return tokens


@pytest.fixture
def in_bulk(model, monkeypatch):
    """Return the model in the package, using numpy and tokenizers for every bulk."""
    monkeypatch.setattr(static, "BULK_CHARACTERS", 0)
    return model


def floats(vector):
    """Return a packed vector as numbers, zeros for none."""
    return np.zeros(256, np.float32) if vector is None else np.frombuffer(vector, "<f4")


def unpacked(vector):
    return np.frombuffer(vector, np.float32)


def small_model(folder, dtype, *, scales=True, pre_tokenizer="BertPreTokenizer"):
    """Write a model of the first 3,000 tokens and 8 dimensions in model2vec's layout."""
    random = np.random.default_rng(1)
    rows = random.integers(-127, 128, (3000, 8)).astype(dtype)
    weights = random.random(3000).astype(np.float32)
    tokenizer = json.loads((FOLDER / "tokenizer.json").read_text(encoding="utf-8"))
    vocabulary = tokenizer["model"]["vocab"]
    tokenizer["model"]["vocab"] = {word: i for word, i in vocabulary.items() if i < 3000}
    tokenizer["pre_tokenizer"] = {"type": pre_tokenizer}
    name = {"int8": "I8", "float16": "F16", "float32": "F32"}[dtype]
    tensors = {"embeddings": (name, rows)} | ({"weights": ("F32", weights)} if scales else {})
    header, data = {}, b""
    for key, (kind, tensor) in tensors.items():
        span = [len(data), len(data) + tensor.nbytes]
        header[key] = {"dtype": kind, "shape": list(tensor.shape), "data_offsets": span}
        data += tensor.tobytes()
    head = json.dumps(header).encode()
    folder.mkdir()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(head)) + head + data)
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer), encoding="utf-8")
    (folder / "config.json").write_text('{"model_type": "model2vec", "normalize": true}')
    return folder


def run(code, **environment):
    """Run Python code in a fresh process and return what it printed."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return done.stdout.strip()


# The model in the package


def test_space_file_names_the_model_and_its_digest(model):
    """space.json says what a hash over the files says, so that none is computed at start."""
    space = json.loads((FOLDER / "space.json").read_text())
    assert space == {
        "name": embedding.DEFAULT,
        "dim": model.dim,
        "sha256": fingerprint(str(FOLDER)),
    }
    assert model.sha256 == space["sha256"]
    assert (model.name, model.dim) == ("memai-static-1", 256)


def test_model_folder_is_at_most_12_megabytes():
    """All that the folder ships fits 12 MB."""
    assert sum(file.stat().st_size for file in FOLDER.iterdir() if file.is_file()) <= 12_000_000


def test_sorted_words_are_the_vocabulary():
    """vocab.idx gives each word of tokenizer.json its id, and no other word one."""
    words, vocabulary = SortedWords(str(FOLDER)), read_vocabulary(str(FOLDER))
    assert all(words.get(word) == token for word, token in vocabulary.items())
    assert [words.get(word) for word in ("", "Deploy", "zzzz", "\U0010ffff")] == [None] * 4


def test_without_sorted_words_tokenizer_json_is_read(model, tmp_path, monkeypatch):
    """The packaged model works the same when vocab.idx is absent."""
    folder = shutil.copytree(FOLDER, tmp_path / "model")
    (folder / "vocab.idx").unlink()
    bare = static.packaged("bare", str(folder))
    assert [bare.embed(text) for text in AWKWARD] == [model.embed(text) for text in AWKWARD]


def test_vectors_equal_those_of_model2vec(model):
    """The vectors are those of model2vec to 1e-6, wherever there is one."""
    from model2vec import StaticModel

    expected = StaticModel.from_pretrained(FOLDER).encode(AWKWARD)
    vectors = [model.embed(text) for text in AWKWARD]
    assert sum(vector is None for vector in vectors) == 2
    for vector, other in zip(vectors, expected, strict=True):
        assert np.abs(floats(vector) - other).max() <= 1e-6


def test_vectors_have_unit_length_and_the_stated_size(model):
    """A vector is 4 * dim bytes of finite little-endian float32 of length 1."""
    vector = model.embed("a note about the deployment")
    assert len(vector) == 4 * model.dim
    assert math.isclose(math.hypot(*struct.unpack("<256f", vector)), 1, abs_tol=1e-6)


def test_paraphrase_is_nearer_than_another_subject(model):
    """A paraphrase without a common word is more similar than a text about something else."""
    note, other = model.embed("our release broke after midnight"), model.embed("cooking rice")
    query = model.embed("the deployment failed at night")
    assert embedding.similar(query, query) == pytest.approx(1)
    assert embedding.similar(query, note) > 0.3 > embedding.similar(query, other)


# Tokens


def same_in_old_unicode(character):
    """Tell whether a character was in Unicode 3.2 what it is now; tokenizers has old tables."""
    return unicodedata.category(character) == unicodedata.ucd_3_2_0.category(character) != "Cs"


def test_every_character_of_long_standing_is_read_as_tokenizers_reads_it(model, bulk, tokens_of):
    """Between two letters, each character joins, splits or vanishes as in tokenizers."""
    characters = filter(same_in_old_unicode, map(chr, (*range(0xE000), *range(0xF900, 0x30000))))
    texts = [f"a{character}b" for character in characters]
    assert len(texts) > 90_000
    different = [
        text
        for text, (ids, _) in zip(texts, bulk.read(texts), strict=True)
        if not list(model.tokens(text)) == list(ids) == tokens_of(text)
    ]
    assert different == []


@given(
    st.lists(
        st.one_of(
            st.sampled_from(AWKWARD),
            st.text(st.characters(codec="utf-8").filter(same_in_old_unicode)),
            st.text("ab1 _-'é\u0301\u0327ßİ日か゛가\t\x00\u200b.[]"),
        ),
        max_size=5,
    ).map("".join)
)
def test_tokens_equal_those_of_tokenizers(model, bulk, tokens_of, text):
    """The tokens are those of the package tokenizers, the unknown left out; in a bulk too."""
    assert list(model.tokens(text)) == tokens_of(text)
    assert [list(ids) for ids, _ in bulk.read([text])] == [tokens_of(text)]


def test_a_bulk_of_more_words_than_it_keeps_in_mind_reads_them_all(bulk, tokens_of, monkeypatch):
    """Forgetting the words of earlier texts changes nothing of what is read."""
    monkeypatch.setattr(bulk_room, "_MEMO_WORDS", 5)
    texts = ["the deployment failed", "at night, zqxjkvb", "the release of the night"]
    read = [next(bulk.read([text])) for text in texts]
    assert [list(ids) for ids, _ in read] == list(map(tokens_of, texts))


def test_a_text_is_cut_at_512_tokens(model, in_bulk):
    """What comes after 512 known tokens changes neither tokens nor vector, here and in a bulk."""
    cut, longer = "night " * MAX_TOKENS, "night " * MAX_TOKENS + "release " * 500
    assert model.tokens(longer) == model.tokens(cut)
    assert len(model.tokens(longer)) == MAX_TOKENS
    assert model.embed(longer) == model.embed(cut)
    assert in_bulk.embed_passages([longer]) == in_bulk.embed_passages([cut])


def test_tokens_are_uint16(model):
    """Token ids come as an array of two bytes each, ready to be stored."""
    tokens = model.tokens("the deployment failed")
    assert (tokens.typecode, tokens.itemsize, len(tokens)) == ("H", 2, 3)


def test_names_of_special_tokens_in_a_text_are_text(model, in_bulk):
    """A note that speaks of [PAD] and [UNK] is read like any other."""
    text = "the tokens [PAD] and [UNK]"
    assert model.tokens(text) == in_bulk.embed_passages([text])[0][1] == model.tokens(text.lower())


# Bulk


@given(st.lists(st.text() | st.sampled_from(AWKWARD), max_size=4))
def test_a_bulk_gives_what_single_texts_give(model, bulk, texts):
    """With numpy and tokenizers the vectors and tokens are those of the standard library."""
    texts = [text for text in texts if all(map(same_in_old_unicode, text))]
    single = [model.embed(text) for text in texts]
    model._bulk, before = bulk, model._bulk
    try:
        many = model.embed_passages(texts)
    finally:
        model._bulk = before
    assert [tokens for _, tokens in many] == [model.tokens(text) for text in texts]
    for one, (other, _) in zip(single, many, strict=True):
        assert (one is None) == (other is None)
        assert np.abs(floats(one) - floats(other)).max() <= 1e-6


def test_each_text_is_read_once(model, monkeypatch):
    """Vector and tokens of a text come from one reading of it."""
    read, texts = [], ["the deployment", "failed at night"]
    original = model._words.read
    monkeypatch.setattr(model, "_bulk", None)
    monkeypatch.setattr(model, "_characters", 0)
    monkeypatch.setattr(model._words, "read", lambda text: read.append(text) or original(text))
    model.embed_passages(texts)
    assert read == texts


def test_a_bulk_takes_lone_surrogates(in_bulk):
    """Half a surrogate pair in a text is passed over, here and in a bulk."""
    texts = ["the \ud800deployment", "\udfff"]
    plain = in_bulk.embed("the deployment")
    assert [in_bulk.embed(text) for text in texts] == [plain, None]
    assert in_bulk.embed_passages(texts) == in_bulk.embed_passages(["the deployment", ""])


def test_a_large_bulk_in_several_batches_keeps_its_order(in_bulk):
    """The results of thousands of texts stand in the order of the texts."""
    texts = [f"note {i} about {'rice' if i % 3 else 'night'}" for i in range(2500)]
    many = in_bulk.embed_passages(texts)
    for i in (0, 1, 1023, 1024, 2048, 2499):
        assert np.abs(floats(many[i][0]) - floats(in_bulk.embed(texts[i]))).max() <= 1e-6
    assert in_bulk.embed_passages([]) == []


def test_threads_share_a_model(model, in_bulk):
    """Many threads at once get what one thread gets."""
    texts = [f"{text} {i}" for i in range(20) for text in AWKWARD]
    expected = [model.embed(text) for text in texts]
    model._words._memo.clear()
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(model.embed, texts)) == expected
        bulks = list(pool.map(in_bulk.embed_passages, [AWKWARD] * 16))
    assert all(many == bulks[0] for many in bulks)


# Letters the model does not know


@pytest.mark.parametrize(
    "text",
    [
        "한국어로 쓴 메모입니다",
        "배포 실패: 2024-05-01, v1.2.3 (#42)",
        "مرحبا بالعالم، هذه ملاحظة",
        "Заметка о развёртывании сервера",
        "Σημείωση για την ανάπτυξη",
        "שלום עולם",
        "हिन्दी में एक नोट",
        "Redis 캐시 만료 시간을 삼백 초로 변경했습니다",
    ],
)
def test_mostly_unknown_letters_have_no_vector(in_bulk, text):
    """A text most of whose letters are unknown has no vector, here and in a bulk."""
    assert in_bulk.embed(text) is None
    assert in_bulk.embed_passages([text])[0][0] is None


@pytest.mark.parametrize(
    "text",
    [
        "The Korean word 메모 means note",
        "Meeting with Наташа about the deployment",
        "checksum of the file: " + "0123456789abcdef" * 8,
        "日本の東京に行きました",
        "12:30",
        "café crème à la carte",
    ],
)
def test_mostly_known_letters_have_a_vector(in_bulk, text):
    """A word in another script, a long key, digits, ideographs do not cost a text its vector."""
    assert in_bulk.embed(text) is not None
    assert in_bulk.embed_passages([text])[0][0] is not None


# Late interaction


def test_cosines_are_exact_and_not_negative(model):
    """Cosines of tokens among given ones are those of the table, 1 to itself, never below 0."""
    tokens = list(model.tokens("deployment night rice cooking release"))
    found = model.cosines(tokens[:2], tokens)
    assert found.shape == (2, len(tokens))
    assert [found[0, 0], found[1, 1]] == pytest.approx([1, 1])
    assert found[0, 1] == pytest.approx(found[1, 0])
    assert found.min() >= 0
    assert found.max() <= 1
    assert model.cosines([], tokens).shape == (0, len(tokens))
    assert model.cosines(tokens[:1], []).shape == (1, 0)


def test_numpy_adds_up_as_plain_python_does(model, monkeypatch):
    """A process that has imported it gets the same vectors and weights, to the last bit."""
    text = "The deployment failed at night, and rice was cooking."
    by_numpy = model.embed(text), [model.weight(token) for token in model.tokens(text)]
    monkeypatch.delitem(sys.modules, "numpy")
    assert by_numpy == (model.embed(text), [model.weight(token) for token in model.tokens(text)])


def test_rare_words_weigh_more_than_common_ones(model):
    """A token's weight grows with what it says."""
    the, of, kubernetes, rice = map(model.weight, model.tokens("the of kubernetes rice"))
    assert max(the, of) < min(kubernetes, rice)


# Models in folders


@pytest.mark.parametrize("scales", [True, False])
@pytest.mark.parametrize("dtype", ["int8", "float16", "float32"])
def test_a_model_in_a_folder_is_read_as_model2vec_reads_it(dtype, scales, tmp_path, monkeypatch):
    """int8, float16 and float32 tables, with and without weights, give model2vec's vectors."""
    from model2vec import StaticModel

    folder = small_model(tmp_path / "small", dtype, scales=scales)
    small = embedding.load(str(folder))
    assert isinstance(small, static.Static)
    texts = ["cat and dog", "a 42", "no?"]
    expected = StaticModel.from_pretrained(folder).encode(texts).astype(np.float32)
    tolerance = 2e-3 if dtype == "float16" else 1e-6  # model2vec adds up in float16
    monkeypatch.setattr(static, "BULK_CHARACTERS", 0)
    in_bulk = [vector for vector, _ in small.embed_passages(texts)]
    for vectors in ([small.embed(text) for text in texts], in_bulk):
        got = np.array([np.frombuffer(vector, "<f4") for vector in vectors])
        assert np.abs(got - expected).max() <= tolerance


def test_who_embeds_again_and_again_gets_the_quick_way(tmp_path, monkeypatch):
    """Texts that come one by one count like a bulk, and their vectors stay the same."""
    monkeypatch.setattr(static, "BULK_CHARACTERS", 50)
    small = embedding.load(str(small_model(tmp_path / "small", "int8")))
    found = [small.embed_passages(["cat and dog a 42"])[0] for _ in range(5)]
    assert small._bulk is not None
    for vector, tokens in found:
        assert unpacked(vector) == pytest.approx(unpacked(found[0][0]), abs=1e-6)
        assert tokens == found[0][1]


def test_the_digest_of_a_folder_is_over_its_files(tmp_path):
    """Models in two folders have one digest exactly when their files are the same."""
    one = embedding.load(str(small_model(tmp_path / "one", "int8")))
    two = embedding.load(str(small_model(tmp_path / "two", "int8")))
    other = embedding.load(str(small_model(tmp_path / "other", "float32")))
    assert one.sha256 == two.sha256 != other.sha256


def test_a_tilde_in_a_folder_is_expanded(tmp_path, monkeypatch):
    """~ stands for the home folder."""
    monkeypatch.setenv("HOME", str(tmp_path))
    small_model(tmp_path / "small", "int8")
    assert embedding.load("~/small").dim == 8


def test_a_model_with_another_tokeniser_is_read_by_model2vec(tmp_path):
    """What is not BERT's tokeniser is left to model2vec; such a model offers no tokens."""
    from model2vec import StaticModel

    folder = small_model(tmp_path / "small", "float32", pre_tokenizer="Whitespace")
    foreign = embedding.load(str(folder))
    expected = StaticModel.from_pretrained(folder).encode(["cat and dog"])[0]
    assert not isinstance(foreign, (NoModel, static.Static))
    assert (foreign.dim, len(foreign.sha256)) == (8, 64)
    assert np.frombuffer(foreign.embed("cat and dog"), "<f4") == pytest.approx(expected, abs=1e-6)
    texts = ["", "\ud800cat and dog"]
    none = array("H")
    assert foreign.embed_passages(texts) == [(None, none), (foreign.embed("cat and dog"), none)]
    assert foreign.embed_passages([]) == []
    assert foreign.tokens("cat") == none


# No model


def damaged(folder, name, change):
    """Return a folder after one of its files was changed."""
    file = folder / name
    file.write_bytes(change(file.read_bytes()))
    return folder


@pytest.mark.parametrize(
    "name, change, reason",
    [
        ("model.safetensors", lambda data: data[:-1], "model.safetensors is cut short"),
        ("model.safetensors", lambda data: data[:5], "model.safetensors is damaged"),
        ("model.safetensors", lambda data: data[:50], "model.safetensors is damaged"),
        ("model.safetensors", lambda data: b"\xff" * len(data), "model.safetensors is damaged"),
        ("model.safetensors", lambda data: b"", "model.safetensors is empty"),
        ("tokenizer.json", lambda data: data[:-9], "tokenizer.json is damaged"),
        ("tokenizer.json", lambda data: b"[]", "tokenizer.json is damaged"),
        ("tokenizer.json", lambda data: b"\xff", "tokenizer.json is damaged"),
        ("tokenizer.json", lambda data: data.replace(b": 2999", b": 3000"), "does not fit"),
    ],
)
def test_a_damaged_model_is_a_value_with_a_reason(name, change, reason, tmp_path):
    """A file that is cut, empty or garbage gives NoModel and says which file it is."""
    folder = damaged(small_model(tmp_path / "small", "int8"), name, change)
    found = embedding.load(str(folder))
    assert isinstance(found, NoModel)
    assert found.name == str(folder)
    assert reason in found.reason
    assert embedding.load(str(folder)) is found


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json", "config.json"])
def test_a_folder_without_a_file_is_no_model(name, tmp_path):
    """A folder that lacks a file of the model gives NoModel that names the file."""
    folder = small_model(tmp_path / "small", "int8")
    (folder / name).unlink()
    found = embedding.load(str(folder))
    assert isinstance(found, NoModel)
    assert f"holds no {name}" in found.reason


@pytest.mark.parametrize("name", ["vocab.idx", "space.json"])
def test_a_damaged_file_beside_the_packaged_model_is_noticed(name, tmp_path, monkeypatch):
    """The packaged model is refused when what makes it quick is cut."""
    folder = damaged(shutil.copytree(FOLDER, tmp_path / "model"), name, lambda data: data[:-9])
    monkeypatch.setattr(embedding, "FOLDER", str(folder))
    monkeypatch.setattr(embedding, "_loaded", {})
    found = embedding.load()
    assert isinstance(found, NoModel)
    assert name in found.reason


@pytest.mark.parametrize("name", ["", "/no/such/folder", "./nowhere", "a/b/c", "nul\0byte", "~"])
def test_a_name_that_is_no_folder_and_cannot_be_a_hub_name_is_no_model(name, tmp_path, monkeypatch):
    """A path that leads nowhere, or to no model, is said to, without a look at the network."""
    monkeypatch.setenv("HOME", str(tmp_path))
    found = embedding.load(name)
    assert isinstance(found, NoModel)
    assert "no such folder" in found.reason or "holds no" in found.reason


def test_a_hub_that_cannot_be_reached_is_no_model_and_tells_no_secret(tmp_path):
    """A hub name without a network gives NoModel, whose reason holds no token or address."""
    out = run(
        "from memai.embedding import load; print(load('nobody/nothing'))",
        HF_HUB_OFFLINE="1",
        HF_HOME=str(tmp_path),
        HF_TOKEN="hf_sesame",
        HF_ENDPOINT="http://user:sesame@127.0.0.1:9",
    )
    assert out.startswith(
        "NoModel(name='nobody/nothing', reason='the model is not to be found: there is"
    )
    assert "sesame" not in out
    assert "127" not in out


def test_a_model_is_read_once_a_process(model):
    """Loading a name twice gives the same object."""
    assert embedding.load() is embedding.load(embedding.DEFAULT) is model


# Start-up


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")
@pytest.mark.parametrize("chosen, threads", [({}, 1), ({"OPENBLAS_NUM_THREADS": "2"}, 2)])
def test_numpy_has_one_blas_thread_unless_told_otherwise(chosen, threads):
    """The first use of numpy starts no BLAS threads, keeps a choice, and leaves no variable."""
    out = run(
        "import os\n"
        "for name in ('OPENBLAS_NUM_THREADS', 'GOTO_NUM_THREADS', 'OMP_NUM_THREADS'):\n"
        "    os.environ.pop(name, None)\n"
        f"os.environ |= {chosen}\n"
        "from memai import numeric; numeric.prepare(); import numpy\n"
        "print(len(os.listdir('/proc/self/task')), os.environ.get('OPENBLAS_NUM_THREADS'))"
    )
    assert out == f"{threads} {chosen.get('OPENBLAS_NUM_THREADS')}"


def test_one_text_needs_the_standard_library_only():
    """Embedding one text imports no package and no slow module."""
    out = run(
        "import sys; from memai import embedding as e; m = e.load(); "
        "v = m.embed('the déploiement failed at night'); m.embed_passages(['one', 'two']); "
        "e.similar(v, v); "
        "print(sorted({name.split('.')[0] for name in sys.modules} & {'numpy', 'tokenizers', "
        "'model2vec', 'safetensors', 'huggingface_hub', 'hashlib', 'dataclasses', 'inspect', "
        "'pathlib'}))"
    )
    assert out == "[]"


def test_importing_the_room_reads_no_model():
    """Importing the room imports none of what reads models."""
    out = run(
        "import sys, memai.embedding; "
        "print([name for name in sys.modules if name.startswith('memai.embedding.')])"
    )
    assert out == "[]"
