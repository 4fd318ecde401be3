"""clients/python against the product, and against a network that fails."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
from pkb_client import Answer, Client, PkbError

from corpus.models import Document
from tests.support.documents import BAKERY, LIGHTHOUSE, LIGHTHOUSE_QUESTION

# The server of these tests is a thread with WSGI.
pytestmark = pytest.mark.filterwarnings("ignore:StreamingHttpResponse must consume")


@pytest.fixture
def kb(live_server: Any) -> Iterator[Client]:
    with Client(live_server.url) as client:
        yield client


def test_an_answer_has_citations_that_can_be_proved(kb: Client) -> None:
    stored = kb.ingest_text(LIGHTHOUSE, title="Bavoke", tags=["coast"])
    assert (stored.outcome, stored.chunk_count > 0) == ("added", True)
    answer = kb.ask(LIGHTHOUSE_QUESTION, tags=["coast"])
    assert "Orsolya Quill" in answer.text
    (quote, *_) = answer.citations
    assert LIGHTHOUSE[quote.start_char : quote.end_char] == quote.quote
    assert answer.text[quote.answer_start : quote.answer_end] == quote.quote
    assert kb.is_current(quote)
    Document.objects.all().delete()
    assert not kb.is_current(quote)


def test_mentions_are_counted(kb: Client) -> None:
    kb.ingest_text(LIGHTHOUSE, title="Bavoke", tags=["coast"])
    kb.ingest_text(BAKERY, title="Lindow")
    found = kb.count("a", unit="mention", group_by="tag", limit=1)
    assert (found.document_count, found.mention_count, found.searched_count) == (1, 2, 2)
    assert found.groups[0]["name"] == "coast"
    assert [each["quote"] for each in found.results] == ["A"]
    found = kb.count("Bavoke", amount="over 500 EUR", unit="unclear")
    assert (found.document_count, found.unclear_count, found.currency) == (0, 1, "EUR")


def test_without_an_answer_it_says_so(kb: Client) -> None:
    answer = kb.ask(LIGHTHOUSE_QUESTION)
    assert (answer.kind, answer.text, answer.citations) == ("abstained", "", ())
    assert answer.notice


def test_a_session_is_kept(kb: Client) -> None:
    session = str(uuid4())
    assert kb.ask(LIGHTHOUSE_QUESTION, session_id=session).session_id == session
    with pytest.raises(ValueError, match="tags"):
        kb.ask(LIGHTHOUSE_QUESTION, session_id=session, tags=["coast"])


def test_a_stream_ends_with_the_whole_answer(kb: Client) -> None:
    kb.ingest_text(LIGHTHOUSE, title="Bavoke")
    *parts, done = kb.stream(LIGHTHOUSE_QUESTION)
    said = "".join(event.content for event in parts if event.type == "chunk")
    assert isinstance(done.answer, Answer)
    assert done.answer.text == said
    cited = [event.citation for event in parts if event.citation]
    assert [quote.quote for quote in cited] == [quote.quote for quote in done.answer.citations]


def test_a_search_takes_filters(kb: Client) -> None:
    stored = kb.ingest_text(LIGHTHOUSE, metadata={"year": 1874})
    kb.ingest_text(BAKERY, metadata={"year": 1990})
    wanted = {"type": "lt", "key": "year", "value": 1900}
    found = kb.search(LIGHTHOUSE_QUESTION, filters=wanted, rerank=False)
    assert {passage.document_id for passage in found} == {stored.document_id}
    assert {passage.collection for passage in found} == {""}
    found = kb.search(LIGHTHOUSE_QUESTION, collection="*")
    assert {passage.collection for passage in found} == {"default"}


def test_what_is_stored_already_is_unchanged(kb: Client, tmp_path: Path) -> None:
    first = kb.ingest_text(LIGHTHOUSE, source_uri="note:1")
    path = tmp_path / "copy.txt"
    path.write_text(LIGHTHOUSE)
    again = kb.ingest_file(path, tags=["coast", "towers"])
    assert (again.document_id, again.outcome) == (first.document_id, "unchanged")
    changed = kb.ingest_text(BAKERY, source_uri="note:1")
    assert (changed.document_id, changed.outcome) == (first.document_id, "replaced")


def test_a_file_comes_in_with_all_its_tags(kb: Client, tmp_path: Path) -> None:
    (tmp_path / "bavoke.txt").write_text(LIGHTHOUSE)
    kb.ingest_file(tmp_path / "bavoke.txt", tags=["coast", "towers"], title="Bavoke")
    document = Document.objects.get()
    assert document.title == "Bavoke"
    assert [tag.name for tag in document.tags.all()] == ["coast", "towers"]


def test_a_refusal_names_the_fields(kb: Client) -> None:
    with pytest.raises(PkbError) as caught:
        kb.search("q", top_k=1_000)
    assert caught.value.status == 400
    assert caught.value.errors[0]["field"] == "top_k"
    with pytest.raises(PkbError) as caught:
        kb.ask(LIGHTHOUSE_QUESTION, collection="absent")
    assert (caught.value.status, caught.value.code) == (404, "collection_not_found")


Reply = httpx.Response | Exception
STORED = httpx.Response(201, json={"document_id": "d", "chunk_count": 1})


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long the client waited, without waiting."""
    waited: list[float] = []
    monkeypatch.setattr("pkb_client.time.sleep", waited.append)
    return waited


def on(*replies: Reply) -> tuple[Client, list[httpx.Request]]:
    """A client on a network that answers so, and what it was sent."""
    left, sent = list(replies), []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        reply = left.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply

    return Client("http://kb.example", transport=httpx.MockTransport(answer)), sent


def busy(status: int = 503, **headers: str) -> httpx.Response:
    return httpx.Response(status, headers=headers, json={"error": "overloaded"})


def test_an_ingest_is_tried_again_with_its_key(waits: list[float]) -> None:
    busy_key = httpx.Response(
        409, headers={"Retry-After": "2"}, json={"error": "idempotency_key_busy"}
    )
    kb, sent = on(httpx.ReadTimeout("late"), busy_key, busy(429, **{"Retry-After": "5"}), STORED)
    assert kb.ingest_text("A text.").outcome == "added"
    assert len({request.headers["Idempotency-Key"] for request in sent}) == 1
    assert len({request.content for request in sent}) == 1
    assert waits[1:] == [2, 5]
    assert 0 < waits[0] < 1


@pytest.mark.parametrize(
    "refusal", [busy(503, **{"Retry-After": "600"}), httpx.Response(400, json={"error": "bad"})]
)
def test_what_is_no_use_is_not_tried_again(waits: list[float], refusal: httpx.Response) -> None:
    kb, sent = on(refusal)
    with pytest.raises(PkbError):
        kb.search("q")
    assert (len(sent), waits) == (1, [])


def test_attempts_end(waits: list[float]) -> None:
    kb, sent = on(*[busy() for _ in range(4)])
    with pytest.raises(PkbError) as caught:
        kb.search("q")
    assert (caught.value.status, len(sent), len(waits)) == (503, 4, 3)
    assert waits == sorted(waits)


def test_a_question_that_was_sent_is_not_asked_twice(waits: list[float]) -> None:
    kb, sent = on(httpx.ReadTimeout("late"))
    with pytest.raises(PkbError, match="late"):
        kb.ask("Who?", session_id=str(uuid4()))
    assert len(sent) == 1


def chat(*events: str, break_with: Callable[[], Exception] | None = None) -> httpx.Response:
    def lines() -> Iterator[bytes]:
        yield b": heartbeat\n\n"
        for event in events:
            yield event.encode()
        if break_with:
            raise break_with()

    return httpx.Response(200, headers={"Location": "/chat/c"}, stream=Pieces(lines()))


class Pieces(httpx.SyncByteStream):
    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces

    def __iter__(self) -> Iterator[bytes]:
        return self._pieces


FIRST = 'id: 1\nevent: chunk\ndata: {"type": "chunk", "content": "One."}\n\n'
ERROR = (
    "id: 2\nevent: error\n"
    'data: {"type": "error", "content": "The asker left.", "error": "asker_left"}\n\n'
)


def test_a_broken_stream_is_read_on(waits: list[float]) -> None:
    kb, sent = on(chat(FIRST, break_with=lambda: httpx.ReadError("gone")), chat(ERROR))
    events = kb.stream("Who?")
    assert next(events).content == "One."
    with pytest.raises(PkbError) as caught:
        next(events)
    assert caught.value.code == "asker_left"
    assert (sent[1].method, sent[1].url.path) == ("GET", "/chat/c")
    assert sent[1].headers["Last-Event-ID"] == "1"


def test_a_stream_that_never_ends_is_given_up(waits: list[float]) -> None:
    kb, sent = on(*[chat(FIRST) for _ in range(4)])
    with pytest.raises(PkbError, match="ended before"):
        list(kb.stream("Who?"))
    assert len(sent) == 4


def test_a_key_is_sent_where_one_is_given() -> None:
    seen: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request.headers["Authorization"])
        return httpx.Response(200, json={"results": []})

    with Client("http://kb.example", api_key="k", transport=httpx.MockTransport(answer)) as kb:
        assert kb.search("q") == []
    assert seen == ["Bearer k"]
