"""A language model's server that fails in every way: one line each, soon, and never the key."""

import json
import logging
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from corpus.errors import BackendError, BackendUnavailable
from qa.answerers.lm_answerer import LMAnswerer
from qa.concurrency import cancellable_context
from qa.grounding.drafts import Claim
from tests.support.chat_server import (
    GOOD,
    KEY,
    PASSAGES,
    QUERY,
    QUESTION,
    TALL,
    breaks_off,
    chat_server,
    cut,
    drip,
    drip_stream,
    fails,
    flood,
    flood_stream,
    hang,
    in_turn,
    openai,
    reports_an_error_after,
    says,
    statement,
    stops_at,
    written,
)

pytestmark = pytest.mark.slow

# What a server is waited for that does not answer.
WAIT_S = 0.3
HALF = written(statement(TALL, "S1.1"), statement("It st", "S1.1")).removesuffix('"}]}')

FAILURES = {
    "500": (fails(500), BackendUnavailable, "failed on its side (500)"),
    "503": (fails(503), BackendUnavailable, "failed on its side (503)"),
    "429": (
        fails(429, headers={"Retry-After": "3600"}),
        BackendUnavailable,
        "takes no more requests for now (429)",
    ),
    "401": (fails(401), BackendError, "refused the key (401)"),
    "403": (fails(403), BackendError, "refused the key (403)"),
    "402": (fails(402), BackendError, "asks for payment (402)"),
    "404": (fails(404), BackendError, "refused the request (404)"),
    "redirect": (
        lambda call: call.send(302, "moved", headers={"Location": f"{call.server.root}/v2"}),
        BackendError,
        "sent a reply that cannot be read (302)",
    ),
    "html": (
        lambda call: call.send(200, f"<html>{call.authorization}</html>"),
        BackendError,
        "sent a reply that cannot be read (200)",
    ),
    "binary": (
        lambda call: call.send(200, "\x00\ufffd"),
        BackendError,
        "sent a reply that cannot be read (200)",
    ),
    "other JSON": (
        lambda call: call.send(200, json.dumps({"hello": call.authorization})),
        BackendError,
        "",
    ),
    "deep JSON": (lambda call: call.send(200, "[" * 200_000), BackendError, ""),
    "cut": (cut, BackendUnavailable, "could not be reached, or broke off"),
    "flood": (flood, BackendError, "sent a reply that cannot be read"),
    "hang": (hang, BackendUnavailable, "did not answer in time"),
    "drip": (drip, BackendUnavailable, "did not answer in time"),
    "stream broken off": (
        breaks_off(HALF),
        BackendUnavailable,
        "could not be reached, or broke off",
    ),
    "stream that stops": (stops_at(HALF), BackendUnavailable, "did not answer in time"),
    "stream with an error": (reports_an_error_after(HALF), BackendError, ""),
    "stream of no events": (
        lambda call: call.begin_stream(),
        BackendUnavailable,
        "could not be reached, or broke off",
    ),
    "stream of words": (drip_stream, BackendUnavailable, "did not answer in time"),
    "stream without end": (flood_stream, BackendError, "sent a reply that cannot be read"),
}


@pytest.mark.parametrize("name", FAILURES)
def test_failure_is_one_line_without_the_key(name: str, caplog: pytest.LogCaptureFixture) -> None:
    behaviour, kind, reason = FAILURES[name]
    caplog.set_level(logging.DEBUG)
    timeout_s = WAIT_S if "in time" in reason else 60
    with chat_server(behaviour) as server, pytest.raises(BackendError) as caught:
        openai(server, timeout_s=timeout_s).answer(QUERY, PASSAGES)
    assert type(caught.value) is kind
    message = str(caught.value)
    assert message.startswith("The language model openai/m ")
    assert reason in message
    assert "\n" not in message
    told = "".join(traceback.format_exception(caught.value)) + caplog.text + repr(caught.value)
    assert KEY not in told
    assert caught.value.__context__ is None


def test_a_stream_that_breaks_off_is_heard_up_to_its_last_whole_statement() -> None:
    heard: list[str] = []
    with chat_server(breaks_off(HALF)) as server, pytest.raises(BackendUnavailable):
        openai(server).answer(QUERY, PASSAGES, on_draft=lambda draft: heard.append(draft.text))
    assert heard
    assert set(heard) == {TALL}


@pytest.mark.parametrize("name", FAILURES)
def test_a_check_that_fails_is_one_line_without_the_key(name: str) -> None:
    with chat_server(FAILURES[name][0]) as server, pytest.raises(BackendError) as caught:
        openai(server, timeout_s=WAIT_S).check(QUESTION, [Claim(TALL, PASSAGES[0].text)])
    message = str(caught.value)
    assert message.startswith("The language model openai/m ")
    assert "\n" not in message
    told = "".join(traceback.format_exception(caught.value)) + repr(caught.value)
    assert KEY not in told


def test_a_stream_is_left_when_the_asker_leaves() -> None:
    context, is_cancelled = cancellable_context()
    answer = partial(openai, timeout_s=20)
    with chat_server(drip_stream) as server, ThreadPoolExecutor(1) as threads:
        asked = threads.submit(context.run, answer(server).answer, QUERY, PASSAGES)
        while not server.calls:
            time.sleep(0.01)
        is_cancelled.set()
        with pytest.raises(BackendUnavailable):
            asked.result(timeout=10)
        assert len(server.calls) == 1


def test_refused_connection_is_unavailable() -> None:
    with chat_server(GOOD) as server:
        root = server.root
    answerer = LMAnswerer("openai/m", api_base=f"{root}/v1", api_key=KEY)
    with pytest.raises(BackendUnavailable, match="could not be reached"):
        answerer.answer(QUERY, PASSAGES)


def test_deadline_is_for_the_second_try_too() -> None:
    with chat_server(in_turn(says("no JSON"), hang)) as server:
        started = time.monotonic()
        with pytest.raises(BackendUnavailable, match="did not answer in time"):
            openai(server, timeout_s=1).answer(QUERY, PASSAGES)
        assert time.monotonic() - started < 2


def test_after_a_timeout_nobody_waits_for_the_model_again() -> None:
    with chat_server(hang) as server:
        answerer = openai(server, timeout_s=1, pause_s=60)
        with pytest.raises(BackendUnavailable, match="did not answer in time"):
            answerer.answer(QUERY, PASSAGES)
        with pytest.raises(BackendUnavailable, match=r"is not asked for .* since it did"):
            answerer.with_key("another").answer(QUERY, PASSAGES)
        with pytest.raises(BackendUnavailable, match="is not asked"):
            answerer.rewrite(QUESTION, [])
        with pytest.raises(BackendUnavailable, match="is not asked"):
            answerer.check(QUESTION, [Claim(TALL, PASSAGES[0].text)])
        assert len(server.calls) == 1


def test_one_probe_lets_the_model_back() -> None:
    with chat_server(in_turn(hang, GOOD)) as server:
        answerer = openai(server, timeout_s=1, pause_s=0.01)
        with pytest.raises(BackendUnavailable, match="did not answer in time"):
            answerer.answer(QUERY, PASSAGES)
        time.sleep(0.02)
        assert answerer.answer(QUERY, PASSAGES).text
        assert answerer.answer(QUERY, PASSAGES).text


def test_a_model_that_refuses_is_asked_again() -> None:
    with chat_server(fails(401)) as server:
        answerer = openai(server, pause_s=60)
        for _ in range(5):
            with pytest.raises(BackendError, match="refused the key"):
                answerer.answer(QUERY, PASSAGES)
        assert len(server.calls) == 5
