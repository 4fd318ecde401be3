"""One contract for every reranker, and what each of them promises besides."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from corpus.embedders.colbert import TokenEmbedder
from corpus.errors import BackendError
from qa.search.rerankers import Reranker
from qa.search.rerankers.cross_encoder_reranker import CrossEncoderReranker
from qa.search.rerankers.identity_reranker import IdentityReranker
from qa.search.rerankers.late_interaction_reranker import LateInteractionReranker
from qa.search.rerankers.server_reranker import ServerReranker
from tests.support.chat_server import KEY
from tests.support.model_server import rerank_server

pytestmark = pytest.mark.slow


RERANKERS: dict[str, Callable[[], Reranker]] = {
    "cross-encoder": lambda: CrossEncoderReranker("ms-marco-MiniLM-L-12-v2", threads=1),
    "answerai-colbert-small-v1": lambda: LateInteractionReranker(threads=1),
    "identity": IdentityReranker,
    "cohere": lambda: ServerReranker("rerank-v3.5", rerank_server(), KEY),
}
JUDGING = ["cross-encoder", "answerai-colbert-small-v1"]
QUERY = "How long do refunds take?"
TEXTS = [
    "Bananas are a yellow fruit.",
    "Refunds are paid within ten days of the return.",
    "",
    "日本語のテキスト \U0001f600 naïve",
    "The sky is blue. " * 200,
    "a \ud800 b",
]
PAIRS = [
    ("How long do refunds take?", "Refunds are paid within ten days.", "Bananas are yellow."),
    ("Who wrote Hamlet?", "Hamlet is a play by William Shakespeare.", "A hamlet is a village."),
    ("capital of France", "Paris is the capital of France.", "Lyon lies on the Rhône."),
    ("boiling point of water", "Water boils at 100 °C at sea level.", "Water is a liquid."),
    ("reset my password", "To reset a password, open Settings.", "Passwords are stored hashed."),
]


@cache
def _built(key: str) -> Reranker:
    """Models are slow to load: one of each serves all tests."""
    return RERANKERS[key]()


@pytest.fixture(params=RERANKERS)
def reranker(request: pytest.FixtureRequest) -> Reranker:
    return _built(request.param)


@pytest.fixture
def late_interaction() -> LateInteractionReranker:
    built = _built("answerai-colbert-small-v1")
    assert isinstance(built, LateInteractionReranker)
    return built


class TestEveryReranker:
    def test_one_finite_score_a_text(self, reranker: Reranker) -> None:
        scores = reranker.score(QUERY, TEXTS)
        assert scores.shape == (len(TEXTS),)
        assert scores.dtype == np.float32
        assert np.isfinite(scores).all()

    def test_no_texts_give_no_scores(self, reranker: Reranker) -> None:
        scores = reranker.score(QUERY, [])
        assert scores.shape == (0,)
        assert scores.dtype == np.float32

    def test_score_depends_on_query_and_text_alone(self, reranker: Reranker) -> None:
        together = reranker.score(QUERY, TEXTS)
        np.testing.assert_array_equal(reranker.score(QUERY, TEXTS[::-1])[::-1], together)
        for text, score in zip(TEXTS, together, strict=True):
            assert reranker.score(QUERY, [text])[0] == score

    def test_any_query_is_taken(self, reranker: Reranker) -> None:
        for query in ("", "x" * 5000, "word " * 2000, "\U0001f600 東京", "a \ud800 b"):
            assert np.isfinite(reranker.score(query, TEXTS)).all()

    @pytest.mark.no_cover  # docs/testing.md
    def test_threads_share_one_reranker(self, reranker: Reranker) -> None:
        expected = reranker.score(QUERY, TEXTS)
        with ThreadPoolExecutor(8) as pool:
            scores = list(pool.map(lambda _: reranker.score(QUERY, TEXTS), range(8)))
        assert all(np.array_equal(each, expected) for each in scores)

    @pytest.mark.parametrize("key", RERANKERS)
    @pytest.mark.no_cover  # docs/testing.md
    def test_first_use_by_many_threads_loads_once(self, key: str) -> None:
        fresh = RERANKERS[key]()
        with ThreadPoolExecutor(8) as pool:
            scores = list(pool.map(lambda _: fresh.score(QUERY, TEXTS[:1]), range(8)))
        assert fresh.is_loaded
        assert all(np.array_equal(each, scores[0]) for each in scores)

    def test_it_has_a_name(self, reranker: Reranker) -> None:
        assert reranker.name


class TestJudgingRerankers:
    @pytest.mark.parametrize("key", JUDGING)
    @pytest.mark.parametrize(("query", "relevant", "irrelevant"), PAIRS)
    def test_relevant_text_scores_above(
        self, key: str, query: str, relevant: str, irrelevant: str
    ) -> None:
        scores = _built(key).score(query, [irrelevant, relevant])
        assert scores[1] > scores[0]

    @pytest.mark.parametrize("key", JUDGING)
    def test_weights_load_on_first_use(self, key: str) -> None:
        fresh = RERANKERS[key]()
        assert not fresh.is_loaded
        fresh.load()
        assert fresh.is_loaded

    @pytest.mark.parametrize("key", JUDGING)
    def test_text_is_cut_at_max_tokens(self, key: str) -> None:
        text = "Refunds are paid. " * 200
        scores = _built(key).score(QUERY, [text, text + "Bananas are yellow. " * 50])
        assert scores[0] == scores[1]

    @pytest.mark.parametrize("build", [CrossEncoderReranker, LateInteractionReranker])
    def test_folder_without_graph_is_a_backend_error(
        self, build: Callable[[str], Reranker], tmp_path: Path
    ) -> None:
        with pytest.raises(BackendError):
            build(str(tmp_path)).load()


class TestCrossEncoder:
    def test_long_query_leaves_room_for_the_text(self) -> None:
        query = "How long do refunds take? " + "please " * 1000
        scores = _built("cross-encoder").score(query, TEXTS[:2])
        assert scores[1] > scores[0]

    def test_shorter_limit_cuts_the_text_not_the_query(self) -> None:
        short = CrossEncoderReranker("ms-marco-MiniLM-L-12-v2", threads=1, max_tokens=24)
        text = "Refunds are paid within ten days of the return."
        kept, cut = short.score(QUERY, [text, text + " Bananas are a yellow fruit." * 9])
        assert kept > 0
        assert cut > 0


class TestIdentityReranker:
    def test_all_texts_score_nought(self) -> None:
        assert IdentityReranker().score(QUERY, TEXTS).tolist() == [0.0] * len(TEXTS)


class TestLateInteraction:
    def test_scores_are_cosines(self, late_interaction: LateInteractionReranker) -> None:
        scores = late_interaction.score(QUERY, TEXTS)
        assert (np.abs(scores) <= 1 + 1e-6).all()

    def test_a_text_read_before_is_judged_alike(
        self, late_interaction: LateInteractionReranker
    ) -> None:
        first = late_interaction.score(QUERY, TEXTS)
        assert np.array_equal(late_interaction.score(QUERY, TEXTS[::-1])[::-1], first)

    def test_empty_query_has_a_score(self, late_interaction: LateInteractionReranker) -> None:
        assert np.isfinite(late_interaction.score("", TEXTS[:1])).all()

    def test_packed_vectors_score_as_whole_ones(
        self, late_interaction: LateInteractionReranker
    ) -> None:
        embedder = TokenEmbedder(threads=1)
        texts = [*TEXTS, *(text for _, *pair in PAIRS for text in pair)]
        packed = embedder.pack_texts(texts)
        for query in (QUERY, "", *(pair[0] for pair in PAIRS)):
            whole = late_interaction.score(query, texts)
            found = embedder.score_packed(embedder.embed_query(query), packed)
            # Texts of a few words, as these are, deviate most.
            np.testing.assert_allclose(found, whole, atol=0.045)
            assert abs((found - whole).mean()) < 0.02

    def test_a_packed_token_takes_96_bytes(self) -> None:
        embedder = TokenEmbedder(threads=1)
        (packed,) = embedder.pack_texts([TEXTS[4]])
        (vectors,) = embedder.embed_texts([TEXTS[4]])
        assert embedder.count_tokens(packed) == len(vectors)
        assert len(packed) == 96 * len(vectors)
