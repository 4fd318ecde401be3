"""One contract for every embedder, and what each of them promises besides."""

import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tokenizers import Tokenizer

from corpus.embedders import Embedder, get_embedder
from corpus.embedders.concatenated import ConcatenatedEmbedder
from corpus.embedders.hashed_words import HashingEmbedder
from corpus.embedders.model_files import packaged_model
from corpus.embedders.onnx import OnnxEmbedder
from corpus.embedders.sentence_transformer import SentenceTransformerEmbedder
from corpus.embedders.server import ServerEmbedder
from corpus.embedders.tokens import find_token_spans, load_tokenizer
from corpus.errors import BackendError
from tests.support.chat_server import KEY
from tests.support.model_server import embedding_server

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
# The development cache: exports are named by their weights, so tests may share it.
CACHE = str(ROOT / "var" / "models")

WEIGHTS = {"bge-small-en-v1.5": 0.6, "all-MiniLM-L6-v2-int8": 0.4}

EMBEDDERS: dict[str, Callable[[], Embedder]] = {
    "minilm-onnx": lambda: OnnxEmbedder("all-MiniLM-L6-v2", CACHE, threads=1),
    "minilm-torch": lambda: SentenceTransformerEmbedder("all-MiniLM-L6-v2", threads=1),
    "bge-onnx": lambda: OnnxEmbedder("bge-small-en-v1.5", CACHE, threads=1),
    "minilm-int8": lambda: OnnxEmbedder("all-MiniLM-L6-v2", CACHE, threads=1, quantized=True),
    "both": lambda: ConcatenatedEmbedder("both", WEIGHTS),
    "hashing": lambda: HashingEmbedder(96),
    "openai": lambda: ServerEmbedder("text-embedding-3-small", embedding_server(), KEY),
}
TEXTS = [
    "",
    "   \n\t ",
    "Refunds are paid within ten days of the return.",
    "日本語のテキストです。東京は首都。",
    "naïve café \U0001f600\U0001f468‍\U0001f469‍\U0001f467 e\u0301 ﬁn",
    "مرحبا بالعالم",
    "def f(x):\n\treturn x ** 2  # squared",
    "x" * 3000,
    "Der schnelle braune Fuchs springt über den faulen Hund. " * 60,
    "\x07 bell \x00 nul \u200b zero width",
    "one",
]
# What takes most of the time, and tells a thread nothing that the others do not.
LONG = 1_000


@cache
def _built(key: str) -> Embedder:
    """Models are slow to load: one of each serves all tests."""
    return EMBEDDERS[key]()


@cache
def _embedded(key: str) -> NDArray[np.float32]:
    """The vectors of ``TEXTS``, which cost seconds."""
    return _built(key).embed_passages(TEXTS)


@cache
def _tokenizer() -> Tokenizer:
    return load_tokenizer(packaged_model("all-MiniLM-L6-v2"))


@pytest.fixture(params=EMBEDDERS)
def embedder(request: pytest.FixtureRequest) -> Embedder:
    return _built(request.param)


@pytest.fixture
def embedded(request: pytest.FixtureRequest, embedder: Embedder) -> NDArray[np.float32]:
    return _embedded(request.node.callspec.params["embedder"])


class TestEveryEmbedder:
    def test_vectors_are_float32_unit_rows(
        self, embedder: Embedder, embedded: NDArray[np.float32]
    ) -> None:
        assert embedded.shape == (len(TEXTS), embedder.dimension)
        assert embedded.dtype == np.float32
        np.testing.assert_allclose(np.linalg.norm(embedded, axis=1), 1, atol=1e-5)

    def test_query_is_one_unit_vector(self, embedder: Embedder) -> None:
        vector = embedder.embed_query("How long do refunds take?")
        assert vector.shape == (embedder.dimension,)
        assert vector.dtype == np.float32
        assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)

    def test_no_texts_give_no_rows(self, embedder: Embedder) -> None:
        assert embedder.embed_passages([]).shape == (0, embedder.dimension)
        assert embedder.embed_passages([]).dtype == np.float32
        assert embedder.count_tokens([]) == []

    def test_vector_depends_on_its_text_alone(
        self, embedder: Embedder, embedded: NDArray[np.float32]
    ) -> None:
        backwards = embedder.embed_passages(TEXTS[::-1])[::-1]
        alone = np.stack([embedder.embed_passages([text])[0] for text in TEXTS])
        np.testing.assert_allclose(backwards, embedded, atol=2e-6)
        np.testing.assert_allclose(alone, embedded, atol=2e-6)

    def test_same_input_gives_same_vectors(
        self, embedder: Embedder, embedded: NDArray[np.float32]
    ) -> None:
        np.testing.assert_array_equal(embedder.embed_passages(TEXTS), embedded)

    def test_text_is_cut_at_max_tokens(self, embedder: Embedder) -> None:
        full = "stone " * embedder.max_tokens
        shorter = "stone " * (embedder.max_tokens - 1) + "river"
        vectors = embedder.embed_passages([full, full + "river " * 50, shorter])
        assert embedder.count_tokens([full]) == [embedder.max_tokens]
        np.testing.assert_allclose(vectors[1], vectors[0], atol=2e-6)
        assert np.abs(vectors[2] - vectors[0]).max() > 1e-4

    def test_token_spans_run_forward_inside_the_text(self, embedder: Embedder) -> None:
        for text in TEXTS:
            spans = embedder.token_spans(text)
            assert all(0 <= start < end <= len(text) for start, end in spans)
            assert spans == sorted(spans)

    def test_token_spans_leave_no_letter_out(self, embedder: Embedder) -> None:
        text = "Zürich naïve 東京 \U0001f600 refunds, 42!"
        covered = {i for start, end in embedder.token_spans(text) for i in range(start, end)}
        assert {i for i, char in enumerate(text) if char.isalnum()} <= covered

    def test_token_spans_count_characters_not_bytes(self, embedder: Embedder) -> None:
        text = "\U0001f600 日本 é \U0001f468‍\U0001f469 end"
        start, end = embedder.token_spans(text)[-1]
        assert text[start:end] == "end"

    def test_token_count_is_number_of_spans(self, embedder: Embedder) -> None:
        assert embedder.count_tokens(TEXTS) == [len(embedder.token_spans(t)) for t in TEXTS]

    def test_lone_surrogate_is_taken(self, embedder: Embedder) -> None:
        assert embedder.embed_query("a \ud800 b").shape == (embedder.dimension,)
        assert embedder.token_spans("a \ud800 b")[-1] == (4, 5)
        assert len(embedder.count_tokens(["a \ud800 b"])) == 1

    @pytest.mark.no_cover  # docs/testing.md
    def test_threads_share_one_embedder(self, embedder: Embedder) -> None:
        texts = [text for text in TEXTS if len(text) < LONG]
        expected = embedder.embed_passages(texts)
        spans = [embedder.token_spans(text) for text in texts]

        def use(_: int) -> bool:
            # torch sums in another order when its threads are taken away.
            same = np.allclose(embedder.embed_passages(texts), expected, rtol=0, atol=1e-5)
            return same and [embedder.token_spans(text) for text in texts] == spans

        with ThreadPoolExecutor(8) as pool:
            assert all(pool.map(use, range(8)))

    def test_relevant_passage_is_nearer(self, embedder: Embedder) -> None:
        query = embedder.embed_query("How long do refunds take to be paid?")
        passages = embedder.embed_passages(
            ["Refunds are paid within ten days.", "Bananas are a yellow fruit."]
        )
        relevant, irrelevant = passages @ query
        assert relevant > irrelevant

    @pytest.mark.parametrize("key", EMBEDDERS)
    @pytest.mark.no_cover  # docs/testing.md
    def test_first_use_by_many_threads_loads_once(self, key: str) -> None:
        fresh = EMBEDDERS[key]()
        with ThreadPoolExecutor(8) as pool:
            vectors = list(pool.map(fresh.embed_query, ["stone"] * 8))
        assert fresh.is_loaded
        assert all(np.array_equal(vector, vectors[0]) for vector in vectors)


class TestOnnxEmbedder:
    @pytest.mark.parametrize("key", ["minilm-onnx", "bge-onnx"])
    def test_facts_need_no_weights(self, key: str) -> None:
        fresh = EMBEDDERS[key]()
        assert fresh.dimension == 384
        assert fresh.max_tokens == {"minilm-onnx": 254, "bge-onnx": 510}[key]
        assert not fresh.is_loaded

    def test_vectors_equal_those_of_torch(self) -> None:
        texts = [*TEXTS, *(" ".join(["lorem ipsum 東京"] * n) for n in range(1, 60, 7))]
        onnx, torch = (_built(key).embed_passages(texts) for key in ("minilm-onnx", "minilm-torch"))
        assert (onnx * torch).sum(axis=1).min() >= 0.9999

    def test_query_prefix_is_put_before_queries_only(self) -> None:
        plain = _built("bge-onnx")
        prefixed = OnnxEmbedder("bge-small-en-v1.5", CACHE, query_prefix="Find: ", threads=1)
        np.testing.assert_array_equal(
            prefixed.embed_query("stone"), plain.embed_query("Find: stone")
        )
        np.testing.assert_array_equal(
            prefixed.embed_passages(["stone"]), plain.embed_passages(["stone"])
        )

    def test_bge_takes_first_token_as_its_text(self) -> None:
        """Its package leaves the pooling out; mean pooling would be another vector."""
        mean = OnnxEmbedder("bge-small-en-v1.5", CACHE, pooling="mean", threads=1)
        cls = OnnxEmbedder("bge-small-en-v1.5", CACHE, pooling="cls", threads=1)
        np.testing.assert_array_equal(
            cls.embed_query("stone"), _built("bge-onnx").embed_query("stone")
        )
        assert mean.embed_query("stone") @ cls.embed_query("stone") < 0.99

    def test_name_is_the_model_unless_given(self) -> None:
        assert OnnxEmbedder("all-MiniLM-L6-v2", CACHE).name == "all-MiniLM-L6-v2"
        assert OnnxEmbedder("all-MiniLM-L6-v2", CACHE, name="mine").name == "mine"

    def test_a_quantized_graph_is_near_the_exact_one(self) -> None:
        exact, quantized = (_embedded(key) for key in ("minilm-onnx", "minilm-int8"))
        assert (exact * quantized).sum(axis=1).min() > 0.97


class TestConcatenatedEmbedder:
    def test_a_cosine_is_the_weighted_mean_of_the_parts(self) -> None:
        parts = [(get_embedder(name), weight) for name, weight in WEIGHTS.items()]
        left, right = "Who built the lighthouse?", "It was built by Orsolya Quill."
        both = _built("both")
        assert both.dimension == 768
        assert both.max_tokens == 254
        assert both.embed_query(left) @ both.embed_query(right) == pytest.approx(
            sum(w * (part.embed_query(left) @ part.embed_query(right)) for part, w in parts),
            abs=1e-6,
        )


class TestSentenceTransformerEmbedder:
    def test_unknown_model_is_a_backend_error(self, tmp_path: Path) -> None:
        with pytest.raises(BackendError, match="does not load"):
            SentenceTransformerEmbedder(str(tmp_path)).load()


class TestHashingEmbedder:
    @pytest.mark.parametrize("dimension", [1, 3, 384, 4000])
    def test_any_dimension_gives_unit_vectors(self, dimension: int) -> None:
        vectors = HashingEmbedder(dimension).embed_passages(TEXTS)
        assert vectors.shape == (len(TEXTS), dimension)
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)

    def test_words_are_compared_without_case(self) -> None:
        embedder = HashingEmbedder(64)
        assert embedder.embed_query("Stone RIVER") @ embedder.embed_query("stone river") > 0.999

    def test_vectors_are_the_same_in_every_process(self) -> None:
        vector = HashingEmbedder(4).embed_query("stone river stone")
        program = (
            "from corpus.embedders.hashed_words import HashingEmbedder as E;"
            "print(E(4).embed_query('stone river stone').tolist())"
        )
        done = subprocess.run(
            [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
        )
        assert done.stdout.strip() == str(vector.tolist())


class TestTokenSpans:
    @given(
        st.text(st.sampled_from("ab c\n\té́日🙂．,.-'\u00a0\u200b\x1c\x07ßﬁ#"), max_size=60)
        | st.text()
    )
    def test_blocks_of_any_text_equal_the_whole(self, text: str) -> None:
        tokenizer = _tokenizer()
        whole = tokenizer.encode(text, add_special_tokens=False).offsets
        with patch("corpus.embedders.tokens._BLOCK_CHARS", 3):
            assert find_token_spans(tokenizer, text) == whole

    def test_blocks_join_without_a_seam(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("corpus.embedders.tokens._BLOCK_CHARS", 50)
        tokenizer = _tokenizer()
        text = " ".join(TEXTS) * 3
        whole = tokenizer.encode(text, add_special_tokens=False).offsets
        assert find_token_spans(tokenizer, text) == whole
