"""`manage.py optimize_answerer`, and `PKB_LM_PROGRAM`, which selects what it made."""

import json
import stat
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError

from evaluation.datasets import GoldQuestion
from evaluation.optimize import is_right
from qa.context import answerers
from qa.types import Draft, Passage, Quote, Statement
from tests.support.chat_server import (
    KEY,
    PASSAGES,
    QUERY,
    QUESTION,
    Behaviour,
    Call,
    chat_reply,
    fails,
    language_model,
    statement,
    written,
)
from tests.support.commands import refusal, run
from tests.support.datasets import write_dataset
from tests.support.doubles import embed_by_hashing

PLACES = {"Bavoke": "1874", "Silden": "1901", "Morrow": "1932", "Tarn": "1888"}
SAID = "The lighthouse at {} was built in {} by the harbour master."


def reply(call: Call, said: str, *, source: str = "S1.1") -> None:
    told = [statement(said, source)] if said else []
    call.send(200, chat_reply(written(*told)))


def copies(call: Call) -> None:
    """A model that copies the right sentence, and says nothing where there is none."""
    asked = call.body["messages"][-1]["content"]
    question = asked.split("[[ ## question ## ]]\n")[-1].split("\n")[0]
    place = next((name for name in PLACES if name in question), "")
    reply(call, SAID.format(place, PLACES[place]) if place else "")


def invents(call: Call) -> None:
    """A model that points at what does not answer."""
    reply(call, "It was built in 1066 by a giant.", source="S2.1")


def copies_until_shown(call: Call) -> None:
    """Gets worse by demonstrations."""
    (invents if len(call.body["messages"]) > 2 else copies)(call)


@pytest.fixture(autouse=True)
def light_parts(settings: Any, tmp_path: Path) -> None:
    settings.PKB_PROGRAMS_DIR = tmp_path / "programs"
    embed_by_hashing(settings)


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    corpus = [{"id": name, "text": SAID.format(name, year)} for name, year in PLACES.items()]
    asked = [
        {"id": name, "question": f"When was the lighthouse at {name} built?", "answers": [year],
         "doc_id": name}
        for name, year in PLACES.items()
    ]  # fmt: skip
    strange = {"id": "none", "question": "Who composes for brass bands?", "answerable": False}
    return write_dataset(tmp_path / "coast", corpus=corpus, qa=[*asked, strange])


@pytest.fixture
def behave(settings: Any) -> Iterator[Callable[[Behaviour], Any]]:
    """Put a language model that behaves so in force."""
    options = {"api_key": KEY, "programs": settings.PKB_PROGRAMS_DIR}
    with ExitStack() as servers:
        yield lambda behaviour: servers.enter_context(
            language_model(settings, behaviour, **options)
        )


def use_program(settings: Any, name: str) -> None:
    answerer = settings.PKB_ANSWERERS["default"]
    options = {**answerer["OPTIONS"], "program": name}
    settings.PKB_ANSWERERS = {
        **settings.PKB_ANSWERERS,
        "default": {**answerer, "OPTIONS": options},
    }


def optimize(dataset: Path, *more: Any, held_out: int = 2) -> tuple[str, str, int]:
    return run("optimize_answerer", dataset, "--train", 3, "--held-out", held_out, *more)


def test_a_program_is_compiled_judged_and_kept(
    dataset: Path, behave: Any, settings: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    server = behave(copies)
    out, _, code = optimize(dataset, "--name", "coast")
    assert code == 0
    assert "right on 2 held-out questions: plain 2, compiled 2" in out
    assert "PKB_LM_PROGRAM=coast\n" in out
    assert capfd.readouterr() == ("", "")
    (path,) = settings.PKB_PROGRAMS_DIR.iterdir()
    assert [stat.S_IMODE(each.stat().st_mode) for each in (path, path.parent)] == [0o600, 0o700]
    stored = path.read_text()
    assert KEY not in stored
    assert server.root not in stored
    demos = json.loads(stored)["predict"]["demos"]
    shown = [each["text"] for demo in demos for each in demo["statements"]]
    assert set(shown) < {SAID.format(*pair) for pair in PLACES.items()}
    assert len(demos) == 3


def test_a_program_replaces_an_earlier_one_and_is_used_by_its_name(
    dataset: Path, behave: Any, settings: Any
) -> None:
    server = behave(copies)
    path = settings.PKB_PROGRAMS_DIR / "answer.json"
    used = []
    for seed in (0, 1):
        optimize(dataset, "--seed", seed)
        used.append(json.loads(path.read_text())["predict"]["demos"])
    assert used[0] != used[1]
    server.calls.clear()
    use_program(settings, "answer")
    answerers["default"].answer(QUERY, PASSAGES)
    shown = [m["content"] for m in server.calls[0].body["messages"] if m["role"] == "user"][:-1]
    assert len(shown) == len(used[1])
    for message, demo in zip(shown, used[1], strict=True):
        assert demo["question"] in message


def test_a_program_that_got_worse_is_not_kept(dataset: Path, behave: Any, settings: Any) -> None:
    behave(copies_until_shown)
    out, err, code = optimize(dataset)
    assert code == 1
    assert "plain 2, compiled 0" in out
    assert "not kept" in err
    assert not settings.PKB_PROGRAMS_DIR.exists()


def test_a_model_that_is_never_right_is_told(dataset: Path, behave: Any, settings: Any) -> None:
    behave(invents)
    with pytest.raises(CommandError, match="right on none of 3 questions"):
        optimize(dataset)
    assert not settings.PKB_PROGRAMS_DIR.exists()


def test_a_server_that_fails_is_told_without_its_words(dataset: Path, behave: Any) -> None:
    behave(fails(401))
    with pytest.raises(CommandError, match="refused the key") as caught:
        optimize(dataset)
    assert KEY not in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ([], "required: DATASET"),
        (["{}", "--train", "0"], "--train is at least 1"),
        (["{}", "--name", "../x"], "--name"),
        (["{}", "--train", "5"], "has 5 questions"),
        (["{}", "--train", "2", "--held-out", "2"], "set PKB_LM"),
    ],
    ids=[
        "no-folder",
        "no-questions",
        "path",
        "too-few",
        "no-model",
    ],
)
def test_wrong_usage_is_told(dataset: Path, arguments: list[str], reason: str) -> None:
    given = [argument.format(dataset) for argument in arguments]
    assert reason in refusal("optimize_answerer", *given)[0]


QUESTION_OF_TOWER = GoldQuestion("q", QUESTION, ("330 metres",), ("d1",))


def told(*sources: Passage, text: str = "It is 330 metres tall.") -> Statement:
    return Statement(text, tuple(Quote(each, 0, len(each.text)) for each in sources))


@pytest.mark.parametrize(
    ("statements", "question", "expected"),
    [
        ([told(PASSAGES[0])], QUESTION_OF_TOWER, True),
        ([told()], QUESTION_OF_TOWER, False),
        ([told(PASSAGES[1])], QUESTION_OF_TOWER, False),
        ([told(PASSAGES[1], PASSAGES[0])], QUESTION_OF_TOWER, True),
        ([told(PASSAGES[0]), told(text="It is ugly.")], QUESTION_OF_TOWER, False),
        ([], QUESTION_OF_TOWER, False),
        ([told(PASSAGES[0])], replace(QUESTION_OF_TOWER, answers=()), True),
        ([told(PASSAGES[0])], replace(QUESTION_OF_TOWER, is_answerable=False), False),
        ([], replace(QUESTION_OF_TOWER, is_answerable=False), True),
    ],
    ids=["right", "no-source", "other-source", "one-of-two", "one-without", "silent",
         "by-document", "not-to-be-answered", "rightly-silent"],
)  # fmt: skip
def test_draft_is_right_with_gold_in_its_sources_or_a_right_refusal(
    statements: list[Statement], question: GoldQuestion, *, expected: bool
) -> None:
    draft = Draft(tuple(statements), answerer="test")
    assert is_right(draft, question=question, gold_ids={"d1"}) is expected
