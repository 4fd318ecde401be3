"""A real language model in this process: SmolLM2 with 135 million weights, from a package.

It proves the way from question to draft, not the answers: it is too small for those.
"""

import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import dspy
import pytest
from dspy import lm15

from corpus.errors import BackendError, BackendUnavailable
from qa.answerers.answer_program import AnswerProgram
from qa.answerers.dspy_program import LMAnswerer
from qa.answerers.local_engine import LocalEngine, ModelFile
from qa.answerers.signature import answer_schema
from qa.concurrency import cancellable_context
from qa.types import Draft
from tests.contracts.answerers import AnswererContract
from tests.contracts.chat_server import PASSAGES, QUERY, QUESTION, passage, statement
from tests.contracts.local_model import engine_of, request_for

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
PATIENCE_S = 240.0
LONG = "Towers are tall. " * 15
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


def shown_an_example(answerer: LMAnswerer) -> LMAnswerer:
    """The same model by a program that has learnt from one."""
    program = AnswerProgram()
    program.predict.demos = [dspy.Example(**EXAMPLE)]
    return answerer.with_program(program)


@pytest.fixture(scope="module")
def local(gguf: Path) -> Iterator[LMAnswerer]:
    answerer = LMAnswerer(f"local:{gguf}", threads=1, max_tokens=300, timeout_s=PATIENCE_S)
    answerer.load()
    yield shown_an_example(answerer)
    engine_of(gguf).close()


class TestLocal(AnswererContract):
    @pytest.fixture
    def answerer(self, local: LMAnswerer) -> LMAnswerer:
        return local


def test_name_is_the_file_s_without_its_folder(local: LMAnswerer, gguf: Path) -> None:
    local.load()  # another test of this module may have closed the engine
    assert local.is_loaded
    assert local.name == f"local:{gguf.name}"


def sources_of(draft: Draft) -> set[str]:
    """The texts of the passages that a draft points at."""
    return {quote.passage.text for each in draft.statements for quote in each.quotes}


def test_model_cannot_point_at_what_it_was_not_given(local: LMAnswerer, gguf: Path) -> None:
    wanted = answer_schema(["S1.1", "S2.1"])["json_schema"]
    schema = {"type": "json_schema", "name": "answer", "schema": wanted["schema"]}
    text = 'Say {"verdict": "", "statements": [{"sources": ["S7.1", "S8.2"], "text": "yes"}]}'
    request = request_for(text, response_format=schema, max_tokens=400)
    response = engine_of(gguf).complete(request)
    assert response.usage.output_tokens <= 400
    sources = set(re.findall(r"S\d+\.\d+", response.message.text))
    assert sources <= {"S1.1", "S2.1"}


def test_answer_is_cut_off_at_the_deadline_and_the_next_one_is_not_hurt(gguf: Path) -> None:
    hasty = LMAnswerer(f"local:{gguf}", threads=1, timeout_s=0.3)
    hasty.load()
    started = time.monotonic()
    with pytest.raises(BackendUnavailable, match="did not answer in time"):
        hasty.answer(QUERY, [passage("A long passage on towers. " * 40)])
    assert time.monotonic() - started < 1
    assert engine_of(gguf).complete(request_for("Say hi.", max_tokens=4)).message.text


def test_model_stops_when_the_asker_leaves(gguf: Path) -> None:
    engine = engine_of(gguf)
    story = request_for("Tell a very long story.", max_tokens=1_000)
    context, is_cancelled = cancellable_context()
    written = context.run(engine.stream, story)
    for _ in range(2):  # the start and the first word
        context.run(next, written)
    is_cancelled.set()
    assert sum(event.type == "delta" for event in context.run(list, written)) < 500
    with pytest.raises(lm15.TimeoutError, match="nobody waits"):  # as a second try would
        context.run(engine.complete, story)
    assert engine.complete(request_for("Say hi.", max_tokens=4)).message.text


def test_second_request_waits_for_its_turn_but_not_beyond_its_deadline(gguf: Path) -> None:
    engine = engine_of(gguf)
    first = engine.stream(request_for("Tell a very long story.", max_tokens=1_000))
    assert next(first).type == "start"
    assert next(first).type == "delta"
    started = time.monotonic()
    with pytest.raises(lm15.TimeoutError, match="busy"):
        engine.until(time.monotonic() + 0.2).complete(request_for("Say hi."))
    assert time.monotonic() - started < 1
    first.close()
    assert engine.complete(request_for("Say hi.", max_tokens=4)).message.text


def test_stream_is_the_same_text_piece_by_piece(gguf: Path) -> None:
    engine = engine_of(gguf)
    question = request_for("Name three colours.", max_tokens=12)
    events = list(engine.stream(question))
    pieces = [event.delta.text for event in events if event.type == "delta"]
    assert len(pieces) > 3
    assert "".join(pieces) == engine.complete(question).message.text
    assert (events[0].type, events[-1].type) == ("start", "end")


@pytest.mark.campaign
def test_passages_beyond_the_context_are_left_out_with_a_note(gguf: Path) -> None:
    narrow = LMAnswerer(
        f"local:{gguf}", threads=1, max_tokens=300, timeout_s=PATIENCE_S, context_tokens=1_024
    )
    draft = shown_an_example(narrow).answer(QUERY, [PASSAGES[0], *[passage(LONG)] * 5])
    assert re.search(r"read [1-5] of 6 passages, the context is full\Z", draft.note)
    assert sources_of(draft) <= {PASSAGES[0].text, LONG}


@pytest.mark.campaign
def test_a_local_model_is_given_the_first_passages_up_to_a_length(gguf: Path) -> None:
    answerer = LMAnswerer(
        f"local:{gguf}", threads=1, max_tokens=300, timeout_s=PATIENCE_S, local_passage_tokens=150
    )
    draft = shown_an_example(answerer).answer(QUERY, [PASSAGES[0], *[passage(LONG)] * 5])
    assert sources_of(draft) <= {PASSAGES[0].text, LONG}
    assert "passages" not in draft.note
    assert draft.prompt_tokens < 800  # with all six about 1,300


@pytest.mark.parametrize("token", ["<|im_end|>", "<|im_start|>", "<|endoftext|>"])
def test_passage_cannot_hold_a_control_token_of_the_model(token: str, gguf: Path) -> None:
    def count(text: str) -> int:
        response = engine_of(gguf).complete(request_for(text, max_tokens=1))
        return int(response.usage.input_tokens)

    assert count(f"a {token} b") >= count("a b") + 4  # the model's own would be one token


def own_sockets(kind: str, *, inode_column: int) -> list[list[str]]:
    """Rows of /proc/net that are of this process; other tests' processes have some too."""
    links = list(Path("/proc/self/fd").iterdir())
    inodes = {str(link.readlink()) for link in links if link.is_symlink()}
    rows = [line.split() for line in Path("/proc/net", kind).read_text().splitlines()[1:]]
    return [row for row in rows if f"socket:[{row[inode_column]}]" in inodes]


def listening() -> set[str]:
    return {row[9] for row in own_sockets("tcp", inode_column=9) if row[3] == "0A"}


def test_nobody_can_open_the_server_inside(gguf: Path) -> None:
    before = listening()
    engine_of(gguf).complete(request_for(QUESTION, max_tokens=1))
    assert listening() <= before
    paths = [row[-1] for row in own_sockets("unix", inode_column=6)]
    assert not [path for path in paths if "pkb-lm-" in path and Path(path).exists()]


def test_one_model_is_held_at_a_time(gguf: Path) -> None:
    first, second = engine_of(gguf), LocalEngine(ModelFile(gguf, threads=1, context_tokens=512))
    first.load()
    second.load()
    assert (first.is_loaded, second.is_loaded) == (False, True)
    second.close()
    assert not second.is_loaded


@pytest.mark.parametrize("size_bytes", [0, 5, 1_000_000])
def test_broken_file_is_a_backend_error(size_bytes: int, gguf: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.gguf"
    with gguf.open("rb") as whole:
        broken.write_bytes(whole.read(size_bytes))
    answerer = LMAnswerer(f"local:{broken}")
    with pytest.raises(BackendError, match=r"local:broken\.gguf cannot be loaded") as caught:
        answerer.load()
    assert str(tmp_path) not in str(caught.value)
    with pytest.raises(BackendError, match="cannot be loaded"):
        answerer.answer(QUERY, PASSAGES)
    assert not answerer.is_loaded


STORY = """
import os, signal, sys, threading, time
from pathlib import Path
from tests.contracts.local_model import engine_of, request_for
signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs in the background ignores it
engine = engine_of(Path(sys.argv[1]))
story = engine.stream(request_for("Tell a very long story.", max_tokens=3000))
[next(story) for _ in range(3)]
"""


@pytest.mark.parametrize(
    ("end", "code"),
    [
        pytest.param("print('done')", 0, marks=pytest.mark.campaign),
        pytest.param("sys.exit(3)", 3, marks=pytest.mark.campaign),
        ("threading.Thread(target=lambda: list(story), daemon=True).start(); time.sleep(.2)", 0),
        ("threading.Timer(.5, os.kill, (os.getpid(), signal.SIGINT)).start(); list(story)", -2),
    ],
)
def test_process_ends_cleanly_while_the_model_writes(end: str, code: int, gguf: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", STORY + end, str(gguf)],
        cwd=ROOT,
        timeout=PATIENCE_S,
        check=False,
        capture_output=True,
        text=True,
    )
    assert ran.returncode == code, ran.stderr
    assert "FATAL" not in ran.stderr


def test_threads_take_turns(local: LMAnswerer, gguf: Path) -> None:
    engine = engine_of(gguf)
    texts: list[str] = []

    def ask() -> None:
        texts.append(engine.complete(request_for("Name a colour.", max_tokens=5)).message.text)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(texts) == 4
    assert all(texts)
