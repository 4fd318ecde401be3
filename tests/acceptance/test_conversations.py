"""Conversations that are kept: listed, found, named, exported, deleted; answers read again."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from corpus.catalogue import delete_document
from corpus.ingestion.document_writer import StoredDocument
from corpus.ingestion.submission import Attributes
from corpus.models import Chunk, Collection
from qa import models
from qa.answer_question import record_answer
from qa.context import build_context
from qa.intent import IntentKind
from qa.models import ChatStream, Feedback, Message, Session
from qa.notices import NOTHING_NEAR, UNSURE
from qa.retention import purge
from qa.search.hybrid import passage_of
from qa.sessions import ask_in_session, delete_session, open_session
from qa.types import Answer, ClosePassage
from tests.support.client import Api
from tests.support.database import places_of
from tests.support.documents import (
    BAKERY,
    FIRST_SENTENCE,
    LAST_SENTENCE,
    LIGHTHOUSE,
    LIGHTHOUSE_QUESTION,
    SHORT_ANSWER,
    UNSURE_ANSWER,
    Ingest,
    answered,
    ingest_text,
)

Keep = Callable[[Answer], str]


@pytest.fixture
def stored(ingest: Ingest) -> StoredDocument:
    return ingest(LIGHTHOUSE, title="Bavoke", source_uri="https://coast.example/bavoke")


def ask(question: str = LIGHTHOUSE_QUESTION, *, session: Session | None = None) -> Session:
    session = session or open_session(keep=True)
    ask_in_session(question, session=session, collection="default", context=build_context())
    return session


@pytest.fixture
def keep(stored: StoredDocument, collection: Collection) -> Keep:
    """Store an answer over LIGHTHOUSE as if it had just been given; return its address."""
    chunk = Chunk.objects.with_document().get(document=UUID(stored.document_id), ordinal=0)
    passage = passage_of(chunk, score=0.9, similarity=0.5)

    def moved(quoted: Any) -> Any:
        start, end = quoted.start_char - 100, quoted.end_char - 100
        return replace(quoted, passage=passage, start_char=start, end_char=end)

    def record(answer: Answer) -> str:
        there = replace(
            answer,
            citations=tuple(map(moved, answer.citations)),
            closest=tuple(map(moved, answer.closest)),
            disagreement=tuple(map(moved, answer.disagreement)),
        )
        return f"/ui/answers/{record_answer(answered(there), collection=collection)}"

    return record


def test_a_kept_conversation_is_listed_and_one_of_the_api_is_not(
    api: Api, client: Client, stored: StoredDocument
) -> None:
    other = open_session()
    ask("How tall is the tower?", session=other)
    kept = ask()
    (listed,) = api.get("/sessions").json()["results"]
    assert (listed["id"], listed["name"]) == (str(kept.pk), "")
    assert (listed["first_question"], listed["question_count"]) == (LIGHTHOUSE_QUESTION, 1)
    assert LIGHTHOUSE_QUESTION in api.page("/ui/chats")
    assert api.get(f"/sessions/{other.pk}").status_code == 404
    assert client.get(f"/ui/chats/{other.pk}").status_code == 404


def test_going_on_with_a_session_can_keep_it(stored: StoredDocument) -> None:
    session = ask(session=open_session())
    assert not Session.objects.listed().exists()
    open_session(session.pk, keep=True)
    assert Session.objects.listed().get() == session


@pytest.mark.parametrize(("q", "count"), [("orsolya", 1), ("LIGHTHOUSE", 1), ("rye", 0)])
def test_conversations_are_found_by_questions_and_answers(
    api: Api, stored: StoredDocument, q: str, count: int
) -> None:
    ask()
    assert len(api.get("/sessions", {"q": q}).json()["results"]) == count
    assert ("1 question" in api.page(f"/ui/chats?q={q}")) is bool(count)


def test_a_conversation_is_renamed_and_found_by_its_name(
    api: Api, client: Client, stored: StoredDocument
) -> None:
    url = f"/sessions/{ask().pk}"
    assert api.patch(url, {"name": "Towers <b>"}).json()["name"] == "Towers <b>"
    assert len(api.get("/sessions", {"q": "towers"}).json()["results"]) == 1
    assert "Towers &lt;b&gt;" in api.page(f"/ui/chats/{url.rsplit('/', 1)[-1]}")
    client.post(f"/ui{url.replace('sessions', 'chats')}/name", {"name": ""})
    assert api.get(url).json()["name"] == ""
    assert api.patch(url, {"name": "x" * 201}).status_code == 400


def test_a_kept_conversation_does_not_expire(stored: StoredDocument, settings: Any) -> None:
    kept, empty = ask(), open_session(keep=True)
    Session.objects.update(last_used_at=timezone.now() - timedelta(days=40))
    assert purge()["sessions"] == 1
    assert not Session.objects.filter(pk=empty.pk).exists()
    again = open_session(kept.pk)
    assert again.messages.count() == 1
    settings.PKB_RETENTION_DAYS = 30
    Session.objects.update(last_used_at=timezone.now() - timedelta(days=40))
    assert purge()["sessions"] == 1


@pytest.mark.parametrize("by", ["api", "page"])
def test_deleting_a_conversation_takes_all_that_was_said_in_it(
    api: Api, client: Client, stored: StoredDocument, by: str
) -> None:
    question = "Who was the engineer of Zumthor's lighthouse at Bavoke?"
    session = ask(question)
    ask("How tall is it?", session=session)
    ChatStream.objects.create(session=session)
    Feedback.objects.create(answer=session.messages.all()[0].answer, rating="up")
    other = ask()
    if by == "api":
        assert api.delete(f"/sessions/{session.pk}").status_code == 204
    else:
        assert "2 questions" in api.page(f"/ui/chats/{session.pk}/delete")
        assert client.post(f"/ui/chats/{session.pk}/delete").status_code == 302
    assert places_of("zumthor") == set()
    assert set(Message.objects.values_list("session", flat=True)) == {other.pk}
    assert models.Answer.objects.count() == 1
    assert not ChatStream.objects.exists()
    assert not Feedback.objects.exists()
    assert api.delete(f"/sessions/{session.pk}").status_code == 404


def test_a_conversation_is_exported(client: Client, api: Api, stored: StoredDocument) -> None:
    session = ask()
    ask("Zxqv blorptang fnimble?", session=session)
    ask(session=session)
    url = f"/ui/chats/{session.pk}/export"
    reply = client.get(url, {"format": "markdown"})
    text = reply.content.decode()
    assert text.startswith(f"# {LIGHTHOUSE_QUESTION}\n\n**{LIGHTHOUSE_QUESTION}**\n\n")
    assert "[^1]" in text
    assert '[^2]: Bavoke, https://coast.example/bavoke: "The lighthouse' in text
    assert 'filename="who-built-the-lighthouse-at-bavoke.md"' in reply["Content-Disposition"]
    whole = client.get(url, {"format": "json"}).json()
    assert whole == api.get(f"/sessions/{session.pk}").json()
    assert [answer["kind"] for answer in whole["answers"]] == ["answer", "abstained", "answer"]
    assert client.get(url, {"format": "pdf"}).status_code == 400


def test_a_conversation_is_shown_again_with_its_collection(
    client: Client, api: Api, stored: StoredDocument
) -> None:
    session = ask()
    shown = api.page(f"/ui/chats/{session.pk}")
    assert "Orsolya Quill" in shown
    assert f'data-chat="{session.pk}"' in shown
    (message,) = session.messages.all()
    single = api.page(f"/ui/answers/{message.answer_id}")
    assert f"/ui/chats/{session.pk}" in single
    assert client.get(f"/ui/answers/{uuid4()}").status_code == 404
    assert client.get(f"/ui/chats/{uuid4()}").status_code == 404


def test_an_extract_stands_in_its_paragraph_and_stands_once(api: Api, keep: Keep) -> None:
    turn = api.page(f"{keep(SHORT_ANSWER)}/turn")
    assert turn.count("was built in 1874") == 1
    assert '<strong class="short">Orsolya Quill</strong>' in turn
    assert "Its lamp burns rapeseed oil" in turn
    assert "Every evening" not in turn
    assert "<summary>Checked quote: please read it</summary> Confidence: 90 %<" in turn
    assert "supported" not in turn


def test_only_what_a_language_model_wrote_is_called_supported(api: Api, keep: Keep) -> None:
    (citation,) = SHORT_ANSWER.citations
    text = "**Quill** built it in 1874."
    said = replace(citation, answer_end=len(text))
    written = replace(
        SHORT_ANSWER, answerer="openai/m", text=text, citations=(said,), short=None,
        disagreement=(close(LAST_SENTENCE),), unanswered=("And when?",),
        not_about=("Torvik",),
    )  # fmt: skip
    url = keep(written)
    turn = api.page(f"{url}/turn")
    assert '<strong><span class="sentence is-supported">Quill</span></strong>' in turn
    assert "Bavoke · supported" in turn
    assert "Your documents disagree:" in turn
    assert "A second keeper writes the weather" in turn
    assert "Not answered by your documents:</strong> And when?" in turn
    notice = "Not about Torvik: this is from “Bavoke”."
    assert f'<p class="record">{notice}</p>' in turn
    assert 'data-rate="up"' in turn
    copied = api.page(f"{url}/markdown")
    assert f"**Quill** built it in 1874.[^1]\n\n{notice}" in copied
    assert (
        f'Your documents disagree:\n\n- Bavoke, https://coast.example/bavoke: "{LAST_SENTENCE}"'
        in (copied)
    )


def close(quote: str) -> ClosePassage:
    (found,) = [each for each in UNSURE_ANSWER.closest if each.quote == quote]
    return found


def test_an_unsure_answer_shows_the_closest_passages_again(
    api: Api, keep: Keep, stored: StoredDocument
) -> None:
    url = keep(UNSURE_ANSWER)
    turn = api.page(f"{url}/turn")
    assert UNSURE in turn
    assert FIRST_SENTENCE in turn
    assert 'class="confidence' not in turn
    shown = api.get(url.removeprefix("/ui")).json()
    assert [each["quote"] for each in shown["closest"]] == [FIRST_SENTENCE, LAST_SENTENCE]
    delete_document(UUID(stored.document_id))
    assert api.get(url.removeprefix("/ui")).json()["closest"] == []
    turn = api.page(f"{url}/turn")
    assert "Not sure.</p>" in turn
    assert 'class="card"' not in turn


def test_a_long_conversation_takes_no_more_statements_than_a_short_one(
    api: Api, keep: Keep
) -> None:
    session = ask()
    counts = []
    for more in (1, 4):
        for _ in range(more):
            answer_id = keep(UNSURE_ANSWER).rpartition("/")[2]
            Message.objects.create(session=session, answer_id=answer_id, searched="?")
        with CaptureQueriesContext(connection) as asked:
            assert FIRST_SENTENCE in api.page(f"/ui/chats/{session.pk}")
            assert api.get(f"/sessions/{session.pk}").json()["answers"][-1]["closest"]
        counts.append(len(asked))
    assert counts[0] == counts[1]


def test_the_page_of_a_conversation_shows_its_last_turns(
    api: Api, stored: StoredDocument, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = ask()
    ask("How tall is the tower?", session=session)
    monkeypatch.setattr("web.views.conversation_pages.MAX_TURNS", 1)
    shown = api.page(f"/ui/chats/{session.pk}")
    assert "1 earlier questions are not shown." in shown
    assert shown.count('<article class="turn"') == 1
    assert '<h2 class="question">How tall is the tower?</h2>' in shown


def whole(close: ClosePassage) -> ClosePassage:
    """The same, shown with all that stands around it."""
    return replace(close, unit_start=0, unit_text=LIGHTHOUSE)


WHOLE_ANSWER = replace(UNSURE_ANSWER, closest=(whole(close(FIRST_SENTENCE)), close(LAST_SENTENCE)))


def test_an_unsure_answer_shows_whole_passages_the_first_one_unfolded(api: Api, keep: Keep) -> None:
    turn = api.page(f"{keep(WHOLE_ANSWER)}/turn")
    first, second = turn.split('<details class="card"')[1:]
    assert first.startswith(" open>")
    assert f'<mark class="cited">{FIRST_SENTENCE}</mark> Its lamp burns' in first
    assert LAST_SENTENCE in first
    assert f'data-start-char="0" data-end-char="{len(LIGHTHOUSE)}"' in first
    assert second.startswith(">")
    assert f'<span class="begin" aria-hidden="true">{LAST_SENTENCE}</span>' in second
    # It is all of the passage: nothing is to be told apart in it.
    assert "<mark" not in second


def test_whole_passages_are_exported_as_quotes(api: Api, keep: Keep) -> None:
    text = api.page(f"{keep(WHOLE_ANSWER)}/markdown")
    quoted = "\n>\n".join(f"> {part}" for part in LIGHTHOUSE.split("\n\n"))
    where = "Bavoke, https://coast.example/bavoke"
    assert text == (
        f"**{LIGHTHOUSE_QUESTION}**\n\n{UNSURE}\n\n{where}:\n\n{quoted}\n\n"
        f"{where}:\n\n> {LAST_SENTENCE}\n"
    )


def test_abstention_folds_passages_that_share_words_without_confidence(
    api: Api, keep: Keep
) -> None:
    abstained = replace(WHOLE_ANSWER, is_unsure=False)
    turn = api.page(f"{keep(abstained)}/turn")
    said, folded = turn.split('<details class="more">')
    assert NOTHING_NEAR in said
    assert "Passages with some of the same words" in folded
    assert folded.count('<details class="card"') == 2
    assert 'class="confidence' not in turn


def test_an_answer_folds_passages_that_it_does_not_cite(api: Api, keep: Keep) -> None:
    more = replace(SHORT_ANSWER, closest=(close(LAST_SENTENCE),))
    url = keep(more)
    said, folded = api.page(f"{url}/turn").split('<details class="more">')
    assert LAST_SENTENCE not in said
    assert "More passages" in folded
    assert LAST_SENTENCE in folded
    assert LAST_SENTENCE not in api.page(f"{url}/markdown")


def test_a_greeting_is_no_warning(api: Api, keep: Keep) -> None:
    hello = Answer("Hello!", "", 0.0, intent=IntentKind.GREETING)
    turn = api.page(f"{keep(hello)}/turn")
    assert '<p class="withheld">Hello.' in turn
    assert "elpful" not in turn


def test_an_unsure_answer_can_be_rated_whatever_was_asked(api: Api, keep: Keep) -> None:
    before = replace(UNSURE_ANSWER, question="What is this about?")
    assert "Helpful" in api.page(f"{keep(before)}/turn")


def test_an_answer_says_that_its_source_changed_or_was_deleted(
    api: Api, keep: Keep, stored: StoredDocument, collection: Collection
) -> None:
    url = keep(SHORT_ANSWER)
    assert "changed" not in api.page(f"{url}/turn")
    attributes = Attributes(title="Bavoke", source_uri="https://coast.example/bavoke")
    ingest_text(BAKERY, collection=collection, attributes=attributes)
    changed = api.page(f"{url}/turn")
    assert "Bavoke changed after this answer" in changed
    assert "Orsolya Quill" in changed
    delete_document(UUID(stored.document_id))
    erased = api.page(f"{url}/turn")
    assert "This answer was deleted" in erased
    assert "Orsolya" not in erased
    assert "was deleted" in api.page(f"{url}/markdown")


def test_markdown_is_rendered_with_the_passage_marked(api: Api, collection: Collection) -> None:
    text = "# Port\n\nSet **the port** to [8300](https://x.example) and *restart* the service now."
    attributes = Attributes(media_type="text/markdown")
    stored = ingest_text(text, collection=collection, attributes=attributes)
    start, end = text.index("Set"), text.index(" and *")
    panel = api.page(f"/ui/documents/{stored.document_id}/passage?start={start}&end={end}")
    assert '<mark class="cited" id="passage">Set </mark>' in panel
    assert '<strong><mark class="cited">the port</mark></strong>' in panel
    assert "**" not in panel
    assert "](" not in panel


def test_a_window_of_markdown_begins_with_a_line(api: Api, collection: Collection) -> None:
    lines = "\n\n".join(
        f"Line {number} is *here* and goes on for a while." for number in range(200)
    )
    stored = ingest_text(
        lines, collection=collection, attributes=Attributes(media_type="text/markdown")
    )
    start = lines.index("Line 150")
    panel = api.page(f"/ui/documents/{stored.document_id}/passage?start={start}&end={start + 8}")
    assert '<mark class="cited" id="passage">Line 150</mark>' in panel
    assert panel.index('<div class="rendered"><p>Line ') > 0


def test_what_is_not_kept_is_not_deleted_as_a_conversation() -> None:
    with pytest.raises(Exception, match="no chat"):
        delete_session(open_session().pk)
