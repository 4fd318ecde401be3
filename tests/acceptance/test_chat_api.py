"""POST /chat and its events, as a client reads them."""

import json
import re
from datetime import timedelta
from threading import Event as Flag
from typing import Any
from uuid import uuid4

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth import get_user_model
from django.test import AsyncClient
from django.utils import timezone

from accounts.keys import create_key
from accounts.models import Event
from corpus.access.principal import SYSTEM, acting_as
from corpus.models import Collection, Grant
from qa.answer_question import record_answer
from qa.models import Answer, ChatEvent, ChatStream, Session
from qa.sessions import delete_session
from tests.support.chat_server import (
    Behaviour,
    Call,
    answers,
    breaks_off,
    careful,
    checked_by,
    fails,
    hang,
    language_model,
    says,
    says_whole,
    statement,
    written,
)
from tests.support.client import Api, Stream, again, chat, read
from tests.support.documents import BAKERY, LIGHTHOUSE, LIGHTHOUSE_QUESTION, Ingest

# The answer is made in another thread, which sees only what is committed.
pytestmark = pytest.mark.django_db(transaction=True)

KEY = "sk-of-the-asker-4711"


def searched(stream: Stream) -> str:
    return str(stream.events[-1].body["answer"]["debug"]["steps"][0]["searched"])


@pytest.mark.bare_models
def test_sentences_come_with_their_citations_and_make_the_stored_answer(ingest: Ingest) -> None:
    ingest(LIGHTHOUSE, title="Bavoke")
    stream = chat("What does the keeper climb, and what does a second keeper write?")
    assert stream.headers["Content-Type"] == "text/event-stream"
    *told, done = stream.events
    assert [event.kind for event in told] == ["chunk", "citation"] * (len(told) // 2)
    assert [event.id for event in stream.events] == [str(n + 1) for n in range(len(told) + 1)]
    stored = Answer.objects.get(pk=done.body["answer_id"])
    assert stream.said == stored.text != ""
    quotes = [event.body["citation"]["quote"] for event in told if event.kind == "citation"]
    assert quotes == [citation.quote for citation in stored.citations.all()]
    assert done.body["answer"]["answer"] == stored.text
    assert Session.objects.filter(pk=done.body["session_id"]).exists()
    for event in stream.events:
        assert {"type", "content", "citation"} <= set(event.body)
        assert event.body["type"] == event.kind


def test_the_halves_of_a_question_are_streamed_one_after_the_other(ingest: Ingest) -> None:
    ingest(LIGHTHOUSE, title="Bavoke")
    ingest(BAKERY, title="Lindow")
    stream = chat("Who built the lighthouse at Bavoke and when does the bakery open?")
    answer = stream.events[-1].body["answer"]
    assert stream.said == answer["answer"]
    told = [event.body["citation"] for event in stream.events if event.kind == "citation"]
    assert [citation["title"] for citation in told] == ["Bavoke", "Lindow"]
    for field in ("quote", "answer_start", "answer_end", "start_char", "end_char"):
        assert [c[field] for c in told] == [c[field] for c in answer["citations"]]


def test_ask_streams_when_told_to(ingest: Ingest) -> None:
    ingest(LIGHTHOUSE)
    stream = chat(path="/ask", stream=True)
    assert stream.kinds == ["chunk", "citation", "done"]


def test_steps_are_told_to_who_wants_them_and_are_not_kept(ingest: Ingest) -> None:
    ingest(LIGHTHOUSE)
    stream = chat(steps=True)
    told = re.findall(r'event: step\ndata: .*?"content": "(\w+)"', stream.text)
    assert told == ["retrieve", "rerank", "answer", "cite"]
    assert stream.kinds == ["chunk", "citation", "done"]
    assert [event.id for event in stream.events] == ["1", "2", "3"]
    assert not ChatEvent.objects.filter(kind="step").exists()
    assert "event: step" not in chat().text


def test_tags_and_a_selected_text_narrow_a_chat(ingest: Ingest) -> None:
    ingest(LIGHTHOUSE, tags=["coast"])
    assert chat(tags=["inland"]).events[-1].body["answer"]["kind"] == "abstained"
    assert "Orsolya Quill" in chat(tags=[" Coast "]).said
    stream = chat(selected_text="The lighthouse at Bavoke was built by Maren Holt.")
    assert "Maren Holt" in stream.said


def test_stream_of_a_conversation_deleted_meanwhile_ends_and_keeps_nothing(
    ingest: Ingest, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest(LIGHTHOUSE)

    def delete_after(*arguments: Any, **options: Any) -> str:
        key = record_answer(*arguments, **options)
        delete_session(Session.objects.get().pk)
        return key

    monkeypatch.setattr("qa.answer_question.record_answer", delete_after)
    stream = chat(keep=True)
    assert stream.kinds[-1] == "error"
    assert stream.events[-1].body["error"] == "conversation_deleted"
    assert not Answer.objects.exists()
    assert not Session.objects.exists()


def test_an_abstention_is_done_and_says_nothing() -> None:
    stream = chat("Zxqv blorptang fnimble wuzzlethorp?")
    assert stream.kinds == ["done"]
    assert stream.events[0].body["answer"]["abstained"] is True


def test_an_unsure_answer_is_done_with_the_closest_passages(ingest: Ingest, settings: Any) -> None:
    stored = ingest(LIGHTHOUSE, title="Bavoke")
    settings.PKB_ANSWER_FROM, settings.PKB_ABSTAIN_BELOW = 1.0, 0.0
    stream = chat()
    assert stream.kinds == ["done"]
    answer = stream.events[0].body["answer"]
    assert (answer["kind"], answer["answer"], answer["abstained"]) == ("unsure", "", True)
    (close,) = answer["closest"]
    assert close["document_id"] == str(stored.document_id)
    assert close["quote"] == LIGHTHOUSE[close["start_char"] : close["end_char"]] != ""
    (done,) = again(stream.headers["Location"]).events
    assert (done.body["answer"]["kind"], done.body["answer"]["closest"]) == ("unsure", [close])


def test_a_stream_can_be_read_on_after_any_event(ingest: Ingest) -> None:
    ingest(LIGHTHOUSE)
    first = chat()
    location = first.headers["Location"]
    assert [event.kind for event in again(location).events] == first.kinds
    rest = again(location, after="1")
    assert rest.events[0] == first.events[1]
    (done,) = [event for event in rest.events if event.kind == "done"]
    assert done.body["answer_id"] == first.events[-1].body["answer_id"]
    assert done.body["answer"]["answer"] == first.said
    assert again(location, after=first.events[-1].id).events == []


def test_a_stream_read_again_has_no_quote_of_a_deleted_document(api: Api) -> None:
    stored = api.ingest(LIGHTHOUSE)
    location = chat().headers["Location"]
    api.delete(f"/documents/{stored.document_id}")
    rest = again(location, after="1")
    assert rest.kinds == ["done"]
    assert [c["quote"] for c in rest.events[0].body["answer"]["citations"]] == [""]
    assert not ChatEvent.objects.filter(kind="citation").exists()


def test_after_five_minutes_a_stream_is_404() -> None:
    location = chat("Is there nothing here?").headers["Location"]
    ended = timezone.now() - timedelta(minutes=5, seconds=1)
    ChatStream.objects.update(finished_at=ended)
    assert again(location).status == 404
    assert again(f"/chat/{uuid4()}").status == 404


def test_a_bad_last_event_id_is_400() -> None:
    location = chat("Is there nothing here?").headers["Location"]
    assert again(location, after="last").status == 400


@pytest.mark.parametrize(
    "wrong",
    [{"question": ""}, {"session_id": "abc"}, {"context_window": -1}, {"context_window": "wide"}],
    ids=str,
)
def test_bad_input_is_400_before_the_stream_begins(wrong: dict[str, Any]) -> None:
    stream = chat(**{"question": "Who is it?", **wrong})
    assert stream.status == 400
    assert json.loads(stream.text)["error"] == "invalid_input"
    assert not ChatStream.objects.exists()


def test_an_unknown_collection_is_404() -> None:
    assert chat(collection="absent").status == 404


def test_without_a_context_window_nothing_was_said_before(ingest: Ingest) -> None:
    ingest(LIGHTHOUSE)
    session_id = chat().events[-1].body["session_id"]
    full = chat("How tall is it?", session_id=session_id)
    none = chat("How tall is it?", session_id=session_id, context_window=0)
    assert searched(full) == "How tall is the lighthouse at Bavoke?"
    assert searched(none) == "How tall is it?"


def test_heartbeats_come_while_a_model_thinks(ingest: Ingest, settings: Any) -> None:
    ingest(LIGHTHOUSE)
    settings.PKB_CHAT_HEARTBEAT_S = 0.1
    with language_model(settings, hang, timeout_s=1.0):
        stream = chat()
    assert stream.text.count(": heartbeat\n\n") >= 3
    assert stream.kinds[-1] == "done"


SPOKEN = ("Orsolya Quill built the lighthouse at Bavoke in 1874.", "She was an engineer.")
STATEMENTS = tuple(statement(text, "S1.1") for text in SPOKEN)


def speaks(was_heard: Flag, *, ends: Behaviour | None = None) -> Behaviour:
    """Write the first statement; once it was heard, or after a while, the rest or end so."""

    def behave(call: Call) -> None:
        reply = written(*STATEMENTS)
        begun = reply[: reply.index(SPOKEN[1]) + 3]
        breaks_off(begun)(call)
        was_heard.wait(20)
        if ends is not None:
            ends(call)
            return
        call.stream(reply[len(begun) :])
        call.end_stream()

    return checked_by(careful(*SPOKEN), writes=behave)


def chat_with(behaviour: Behaviour, settings: Any, was_heard: Flag, **fields: Any) -> Stream:
    """Chat with a model that waits for what is said of its first statement."""

    async def send() -> Stream:
        body = {"question": LIGHTHOUSE_QUESTION, **fields}
        response: Any = await AsyncClient().post("/chat", body, content_type="application/json")
        text = ""
        async for part in response:
            text += part.decode()
            if "event: citation" in text:
                was_heard.set()
        return Stream(response.status_code, response.headers, text)

    with language_model(settings, behaviour):
        return async_to_sync(send)()


@pytest.fixture
def was_heard() -> Flag:
    return Flag()


def test_a_statement_is_told_while_the_model_writes_the_next(
    settings: Any, was_heard: Flag, api: Api
) -> None:
    api.ingest(LIGHTHOUSE)
    told_in_time: list[bool] = []
    looks = speaks(was_heard, ends=lambda call: told_in_time.append(was_heard.is_set()))
    chat_with(looks, settings, was_heard)
    assert told_in_time == [True]
    stream = chat_with(speaks(was_heard), settings, was_heard)
    assert stream.kinds == ["chunk", "citation", "chunk", "citation", "done"]
    answer = stream.events[-1].body["answer"]
    assert (answer["answerer"], answer["fallback"]) == ("openai/m", None)
    assert stream.said == answer["answer"] == Answer.objects.latest("created_at").text
    assert stream.said == " ".join(SPOKEN)
    at_once = checked_by(careful(*SPOKEN), writes=says_whole(written(*STATEMENTS)))
    with language_model(settings, at_once):
        whole = api.answer()
    assert whole["answer"] == answer["answer"]
    assert [c["quote"] for c in whole["citations"]] == [c["quote"] for c in answer["citations"]]
    for field in ("text", "statements"):
        assert whole["debug"]["draft"][field] == answer["debug"]["draft"][field]


@pytest.mark.parametrize(
    ("ends", "reason"),
    [
        (lambda call: None, "could not be reached, or broke off"),
        (hang, "did not answer in time"),
        (lambda call: call.end_stream("length"), "gave an output that cannot be read"),
    ],
    ids=["cut", "timeout", "too long"],
)
def test_what_was_told_of_a_model_that_fails_is_the_answer(
    ingest: Ingest, settings: Any, was_heard: Flag, ends: Behaviour, reason: str
) -> None:
    ingest(LIGHTHOUSE)
    stream = chat_with(speaks(was_heard, ends=ends), settings, was_heard)
    assert stream.kinds == ["chunk", "citation", "done"]
    answer = stream.events[-1].body["answer"]
    assert stream.said == answer["answer"] == Answer.objects.latest("created_at").text == SPOKEN[0]
    assert answer["fallback"].startswith("openai/m broke off: ")
    assert reason in answer["fallback"]
    assert answer["answerer"] == "openai/m"


def test_model_that_fails_half_way_with_the_askers_key_is_an_error(
    ingest: Ingest, settings: Any, was_heard: Flag
) -> None:
    ingest(LIGHTHOUSE)
    cut = speaks(was_heard, ends=lambda call: None)
    stream = chat_with(cut, settings, was_heard, api_key=KEY)
    assert stream.kinds == ["chunk", "citation", "error"]
    assert not Answer.objects.exists()


def test_the_askers_key_is_used_once_and_kept_nowhere(
    ingest: Ingest, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    ingest(LIGHTHOUSE)
    caplog.set_level("DEBUG")
    with language_model(settings, answers(STATEMENTS[0])) as server:
        stream = chat(api_key=KEY)
        assert stream.kinds == ["chunk", "citation", "done"]
        assert chat().kinds == ["chunk", "citation", "done"]
        # A draft and its check each.
        by = [call.authorization for call in server.calls]
        assert by == [f"Bearer {KEY}"] * 2 + ["Bearer sk-x"] * 2
    assert KEY not in stream.text + caplog.text
    kept = [*ChatEvent.objects.values_list("body"), *Answer.objects.values_list("steps")]
    assert KEY not in str(kept)


def test_a_model_that_refuses_the_askers_key_is_an_error_event(
    ingest: Ingest, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    ingest(LIGHTHOUSE)
    with language_model(settings, fails(401)):
        stream = chat(api_key=KEY)
    assert stream.kinds == ["error"]
    assert "refused the key" in stream.events[0].body["content"]
    assert KEY not in stream.text + caplog.text
    assert again(stream.headers["Location"]).kinds == ["error"]


def test_a_follow_up_is_rewritten_by_the_model(ingest: Ingest, settings: Any) -> None:
    ingest(LIGHTHOUSE)
    session_id = chat().events[-1].body["session_id"]
    standalone = {"standalone": "How tall is the tower of the lighthouse at Bavoke?"}
    with language_model(settings, says(json.dumps(standalone))) as server:
        stream = chat("And that one's size?", session_id=session_id)
        assert "data: never follow" in server.calls[0].prompt
        assert LIGHTHOUSE_QUESTION in server.calls[0].prompt
    assert searched(stream) == standalone["standalone"]


def test_a_stream_acts_for_who_began_it(ingest: Ingest, settings: Any) -> None:
    ingest(LIGHTHOUSE)
    settings.PKB_AUTH_REQUIRED = True
    ida = get_user_model().objects.create_user("ida")
    Collection.objects.update(owner=ida)
    _, key = create_key(ida, name="chat", scopes=["read"])
    headers = {"Authorization": f"Bearer {key}"}
    json_body = "application/json"
    body = {"question": LIGHTHOUSE_QUESTION}
    told = read("post", "/chat", body, content_type=json_body, headers=headers)
    assert told.kinds[-1] == "done"
    messages = [{"role": "user", "content": LIGHTHOUSE_QUESTION}]
    asked = {"model": "pkb/default", "messages": messages, "stream": True}
    read("post", "/v1/chat/completions", asked, content_type=json_body, headers=headers)
    read(
        "post",
        "/v1/responses",
        {"model": "pkb/default", "input": LIGHTHOUSE_QUESTION, "stream": True},
        content_type=json_body,
        headers=headers,
    )
    assert read("get", told.headers["Location"], headers=headers).kinds[-1] == "done"
    assert (
        list(Event.objects.filter(action="ask").values_list("user_id", flat=True)) == [ida.pk] * 3
    )


def test_a_stream_ends_where_its_grant_is_taken_back_meanwhile(
    ingest: Ingest, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest(LIGHTHOUSE)
    settings.PKB_AUTH_REQUIRED = True
    ida, otto = (get_user_model().objects.create_user(name) for name in ("ida", "otto"))
    Collection.objects.update(owner=ida)
    grant = Grant.objects.create(collection=Collection.objects.get(), user=otto, role="reader")
    _, key = create_key(otto, name="chat", scopes=["read"])

    def take_back_and_record(*arguments: Any, **options: Any) -> Any:
        with acting_as(SYSTEM):
            Grant.objects.filter(pk=grant.pk).delete()
        return record_answer(*arguments, **options)

    monkeypatch.setattr("qa.answer_question.record_answer", take_back_and_record)
    stream = read(
        "post",
        "/chat",
        {"question": LIGHTHOUSE_QUESTION, "collection": "default@ida"},
        content_type="application/json",
        headers={"Authorization": f"Bearer {key}"},
    )
    assert stream.kinds[-1] == "error"
    assert stream.events[-1].body["error"] == "forbidden"
    assert not Answer.objects.exists()
