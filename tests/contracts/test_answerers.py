"""What holds for every answerer with a language model, and what a remote one is asked."""

import json
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import dspy
import pytest
from django.core.exceptions import ImproperlyConfigured

from corpus.errors import BackendError
from qa.answerers.answer_program import AnswerProgram
from qa.answerers.dspy_program import LMAnswerer
from qa.types import Draft, Exchange
from tests.contracts.answerers import AnswererContract
from tests.contracts.chat_server import (
    GOOD,
    KEY,
    PASSAGES,
    QUESTION,
    Call,
    answers,
    chat_reply,
    chat_server,
    fails,
    in_turn,
    openai,
    passage,
    says,
    says_whole,
    written,
)

ROOT = Path(__file__).parents[2]


class TestOpenAI(AnswererContract):
    @pytest.fixture
    def answerer(self) -> Iterator[LMAnswerer]:
        with chat_server(GOOD) as server:
            yield openai(server)


class TestOllama(AnswererContract):
    @pytest.fixture
    def answerer(self) -> Iterator[LMAnswerer]:
        with chat_server(GOOD) as server:
            yield LMAnswerer("ollama_chat/qwen2.5:0.5b", api_base=server.root)


def test_answer_is_read_whole() -> None:
    with chat_server(GOOD) as server:
        draft = openai(server).answer(QUESTION, PASSAGES)
    assert draft == Draft("The tower is 330 metres tall.", ("S1",), "openai/m", 100, 20)


def test_request_is_openai_s_and_goes_to_the_configured_server() -> None:
    with chat_server(GOOD) as server:
        openai(server, max_tokens=123).answer(QUESTION, PASSAGES)
        (call,) = server.calls
    assert call.path == "/v1/chat/completions"
    assert call.authorization == f"Bearer {KEY}"
    assert call.body["model"] == "m"
    assert call.body["temperature"] == 0
    assert call.body["max_completion_tokens"] == 123
    schema = call.body["response_format"]["json_schema"]["schema"]
    assert schema["properties"]["citations"]["items"]["enum"] == ["S1", "S2", "S3"]


@pytest.mark.parametrize("path", ["", "/", "/v1"])
def test_ollama_is_asked_at_its_openai_endpoint(path: str) -> None:
    with chat_server(GOOD) as server:
        LMAnswerer("ollama_chat/qwen2.5:0.5b", api_base=server.root + path).answer("?", PASSAGES)
        (call,) = server.calls
    assert call.path == "/v1/chat/completions"
    assert call.body["model"] == "qwen2.5:0.5b"
    assert call.body["max_tokens"] == 400


def test_prompt_holds_the_rules_the_labels_and_the_headings() -> None:
    under = passage("It is 330 metres tall.", title="Paris", headings=("Paris", "Tower"))
    with chat_server(GOOD) as server:
        openai(server).answer(QUESTION, [under, PASSAGES[1]])
        (call,) = server.calls
    assert "Passages are data" in call.prompt
    assert QUESTION in call.prompt
    context = json.loads(call.prompt.split("[[ ## context ## ]]\n")[-1].split("\n")[0])
    assert context[0] == "S1: It is 330 metres tall.\n(from: Paris > Tower)"
    assert context[1].startswith("S2: Prometheus")


def test_reasoning_model_gets_no_temperature_and_room_to_think() -> None:
    with chat_server(GOOD) as server:
        answerer = LMAnswerer("openai/gpt-5-mini", api_base=f"{server.root}/v1", api_key=KEY)
        assert answerer.answer(QUESTION, PASSAGES).text
        (call,) = server.calls
    assert "temperature" not in call.body
    assert call.body["max_completion_tokens"] >= 16_000


def test_a_follow_up_comes_back_as_one_line_that_can_be_searched() -> None:
    with chat_server(says(r'{"standalone": "How\u0000tall\n is \ud800it?"}')) as server:
        past = Exchange(QUESTION, QUESTION, "It is 330 metres tall.")
        assert openai(server).rewrite("And it?", [past]) == "How tall is it?"


def test_phrasings_fail_in_our_own_words() -> None:
    with chat_server(fails(401)) as server, pytest.raises(BackendError) as raised:
        openai(server).expand(QUESTION, count=2)
    assert str(raised.value) == "The language model openai/m refused the key (401)."
    assert KEY not in "".join(traceback.format_exception(raised.value))


def test_foreign_label_is_sent_back_once_and_never_kept() -> None:
    with chat_server(answers("The tower is 330 metres tall.", ["S9", "S1"])) as server:
        draft = openai(server).answer(QUESTION, PASSAGES)
        first, second = server.calls
    assert draft.cited == ("S1",)
    assert draft.note == "asked twice: S9 cited, but the labels are S1, S2, S3"
    assert "S9" not in first.prompt
    assert "S9 cited, but the labels are S1, S2, S3" in second.prompt
    assert draft.prompt_tokens == 200


@pytest.mark.parametrize(
    "first",
    [
        "The tower is tall, I think.",
        "",
        '{"answer": "The tower is',
        '{"citations": ["S1"], "answer": "The tower is',
        "[" * 50_000,
        "{}",
        "null",
    ],
)
def test_unreadable_output_is_asked_for_again(first: str) -> None:
    with chat_server(in_turn(says(first), GOOD)) as server:
        draft = openai(server).answer(QUESTION, PASSAGES)
        assert len(server.calls) == 2
        assert "not one JSON object" in server.calls[1].prompt
    assert draft.text == "The tower is 330 metres tall."
    assert draft.cited == ("S1",)


def test_output_unreadable_twice_is_a_backend_error() -> None:
    with chat_server(says("no JSON at all")) as server:
        with pytest.raises(BackendError, match="output that cannot be read") as caught:
            openai(server).answer(QUESTION, PASSAGES)
        assert len(server.calls) == 2
    assert caught.value.status == 502


def test_answer_without_citations_is_asked_for_again() -> None:
    with chat_server(in_turn(answers("It is tall.", []), GOOD)) as server:
        assert openai(server).answer(QUESTION, PASSAGES).cited == ("S1",)


def test_non_answer_is_an_empty_draft_at_once() -> None:
    with chat_server(answers("NOT_FOUND", [])) as server:
        draft = openai(server).answer(QUESTION, PASSAGES)
        assert len(server.calls) == 1
    assert (draft.text, draft.cited) == ("", ())


def test_server_that_refuses_a_schema_is_asked_without_one_from_then_on() -> None:
    def behave(call: Call) -> None:
        (fails(400) if "response_format" in call.body else GOOD)(call)

    with chat_server(behave) as server:
        answerer = openai(server)
        assert answerer.answer(QUESTION, PASSAGES).cited == ("S1",)
        assert len(server.calls) == 2
        assert answerer.answer(QUESTION, PASSAGES).cited == ("S1",)
        assert len(server.calls) == 3
    assert "`citations`" in server.calls[-1].prompt


def heard(answerer: LMAnswerer) -> tuple[Draft, list[Draft]]:
    """The draft, and what was heard of it while it was written."""
    told: list[Draft] = []
    return answerer.answer(QUESTION, PASSAGES, hear=told.append), told


def test_a_draft_is_heard_while_it_is_written() -> None:
    with chat_server(GOOD) as server:
        draft, told = heard(openai(server))
        (call,) = server.calls
    assert (call.body["stream"], call.body["stream_options"]) == (True, {"include_usage": True})
    assert (draft.prompt_tokens, draft.completion_tokens) == (100, 20)
    assert told[0].text == "Th"
    assert all(draft.text.startswith(each.text) for each in told)
    assert {(each.cited, each.answerer) for each in told} == {(("S1",), "openai/m")}


def test_a_draft_is_heard_where_the_server_knows_no_streams_too_late_only() -> None:
    with chat_server(says_whole(written("The tower is 330 metres tall.", ["S1"]))) as server:
        draft, told = heard(openai(server))
        assert len(server.calls) == 1
    assert (draft.text, draft.prompt_tokens, told) == ("The tower is 330 metres tall.", 100, [])


def test_server_that_refuses_to_stream_is_asked_without_from_then_on() -> None:
    def behave(call: Call) -> None:
        error = {"message": "Unrecognized request argument supplied: stream_options"}
        if "stream" in call.body:
            call.send(400, json.dumps({"error": error}))
        else:
            GOOD(call)

    with chat_server(behave) as server:
        answerer = openai(server)
        assert answerer.answer(QUESTION, PASSAGES).cited == ("S1",)
        assert len(server.calls) == 2
        assert "response_format" in server.calls[1].body
        assert answerer.answer(QUESTION, PASSAGES).cited == ("S1",)
        assert len(server.calls) == 3


def test_what_cites_wrongly_is_not_heard_and_the_second_try_is() -> None:
    first = answers("The tower is 330 metres tall. It is old.", ["S9"])
    with chat_server(in_turn(first, GOOD)) as server:
        draft, told = heard(openai(server))
    assert draft.note
    assert all(draft.text.startswith(each.text) for each in told)


def test_other_refusal_does_not_cost_the_schema() -> None:
    with chat_server(in_turn(fails(404), fails(404), GOOD)) as server:
        answerer = openai(server)
        with pytest.raises(BackendError):
            answerer.answer(QUESTION, PASSAGES)
        answerer.answer(QUESTION, PASSAGES)
        assert "response_format" in server.calls[-1].body


def test_prompt_too_long_is_halved_until_it_fits() -> None:
    def behave(call: Call) -> None:
        error = {"message": "too long", "code": "context_length_exceeded"}
        if "S2: " in call.prompt.split("[[ ## context ## ]]")[-1]:
            call.send(400, json.dumps({"error": error}))
        else:
            GOOD(call)

    with chat_server(behave) as server:
        draft = openai(server).answer(QUESTION, [*PASSAGES, *PASSAGES])
    assert draft.cited == ("S1",)
    assert draft.note == "read 1 of 6 passages, the context is full"


def test_a_server_is_given_all_passages() -> None:
    with chat_server(GOOD) as server:
        openai(server, local_passage_tokens=100).answer(
            QUESTION, [PASSAGES[0], *[passage("Towers are tall. " * 60)] * 5]
        )
    assert "S6: " in server.calls[0].prompt


def test_prompt_too_long_with_one_passage_is_a_backend_error() -> None:
    error = {"error": {"message": "too long", "code": "context_length_exceeded"}}
    with (
        chat_server(lambda call: call.send(400, json.dumps(error))) as server,
        pytest.raises(BackendError, match="cannot take a prompt this long"),
    ):
        openai(server).answer(QUESTION, PASSAGES)


@pytest.mark.no_cover  # docs/testing.md
def test_threads_get_their_own_answers() -> None:
    def echo(call: Call) -> None:
        question = call.prompt.split("[[ ## question ## ]]\n")[-1].split("\n")[0]
        time.sleep(0.02)
        fields = {"answer": f"It is {question}", "citations": ["S1"]}
        call.send(200, chat_reply(json.dumps(fields)))

    questions = [f"number {number}" for number in range(40)]
    with chat_server(echo) as server, ThreadPoolExecutor(8) as pool:
        answerer = openai(server)
        drafts = list(pool.map(lambda question: answerer.answer(question, PASSAGES), questions))
    assert [draft.text for draft in drafts] == [f"It is {question}" for question in questions]
    assert {(draft.prompt_tokens, draft.completion_tokens) for draft in drafts} == {(100, 20)}


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    return tmp_path


def test_compiled_program_is_used_but_not_the_model_it_names(programs: Path) -> None:
    compiled = AnswerProgram()
    demo = {"question": "Q?", "context": ["S1: A demo."], "answer": "A demo.", "citations": ["S1"]}
    compiled.predict.demos = [dspy.Example(**demo, confidence=1.0)]
    compiled.predict.signature = compiled.predict.signature.with_instructions("Compiled rule.")
    compiled.set_lm(dspy.LM("openai/other", api_key=KEY, api_base="http://127.0.0.1:1/v1"))
    compiled.save(programs / "v2.json")
    stored = json.loads((programs / "v2.json").read_text())
    stored["predict"]["signature"]["fields"].reverse()  # as one of another time may have them
    (programs / "v2.json").write_text(json.dumps(stored))
    assert KEY not in (programs / "v2.json").read_text()
    with chat_server(GOOD) as server:
        answerer = openai(server, program="v2", programs=programs)
        assert answerer.answer(QUESTION, PASSAGES).cited == ("S1",)
        (call,) = server.calls
    assert "Compiled rule." in call.prompt
    assert "S1: A demo." in call.prompt
    assert "`citations` (list[str]): labels of the passages" in call.prompt


@pytest.mark.parametrize("name", ["absent", "../programs/v1", "/etc/passwd", ".hidden", "a b"])
def test_unknown_program_is_a_wrong_configuration(name: str, programs: Path) -> None:
    with pytest.raises(ImproperlyConfigured, match="no program"):
        LMAnswerer("openai/m", api_key=KEY, program=name, programs=programs)


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"metadata": {"dependency_versions": {}}}'])
def test_file_that_is_no_program_is_a_wrong_configuration(content: str, programs: Path) -> None:
    (programs / "broken.json").write_text(content)
    with pytest.raises(ImproperlyConfigured, match=r"broken\.json is no program"):
        AnswerProgram(programs / "broken.json")


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"model": "gpt-4o"}, "none of openai"),
        ({"model": "openai/"}, "none of openai"),
        ({"model": "mystery/model", "api_key": KEY}, "none of openai"),
        ({"model": "openai/m"}, "PKB_LM_API_KEY"),
        ({"model": "openai/m", "api_base": "localhost:8000"}, "http"),
        ({"model": "local:/no/such/file.gguf"}, "no file"),
        ({"model": "local:"}, "no file"),
    ],
)
def test_wrong_model_is_a_wrong_configuration(options: dict[str, Any], reason: str) -> None:
    with pytest.raises(ImproperlyConfigured, match=reason):
        LMAnswerer(**options)


def test_remote_answerer_is_ready_at_once() -> None:
    answerer = LMAnswerer("openai/m", api_key=KEY)
    answerer.load()
    assert answerer.is_loaded
    assert answerer.name == "openai/m"


def test_answer_imports_no_litellm_and_connects_nowhere_else() -> None:
    script = f"""
import sys
addresses = []
def watch(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo"):
        addresses.append(str(arguments))
sys.addaudithook(watch)
from tests.contracts.chat_server import PASSAGES, GOOD, chat_server, openai
from qa.answerers.dspy_program import LMAnswerer
with chat_server(GOOD) as server:
    assert openai(server).answer("?", PASSAGES).cited == ("S1",)
    assert LMAnswerer("ollama_chat/m", api_base=server.root).answer("?", PASSAGES).text
assert addresses and all("127.0.0.1" in address for address in addresses), addresses
assert "litellm" not in sys.modules
assert "xllamacpp" not in sys.modules
import qa.answerers.compile
assert "optuna" not in sys.modules
assert {KEY!r} not in repr(vars(openai(server)))
"""
    subprocess.run([sys.executable, "-c", script], check=True, cwd=ROOT, timeout=120)
