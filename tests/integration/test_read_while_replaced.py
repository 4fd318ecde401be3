"""What is read while a document is replaced is of its old version or its new one, and whole."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from django.test import Client

from corpus.catalogue import create_collection, delete_document
from corpus.models import Chunk, Collection, Document
from corpus.models.chunk import ChunkQuerySet
from corpus.models.document import DocumentQuerySet
from qa.answer_question import answer_question, record_answer
from qa.answer_record import read_passages
from qa.concurrency import Listener
from qa.context import build_context
from qa.models import Citation
from qa.search import document_search as documents_search
from qa.search.hybrid import CandidateSearch
from tests.histories.texts import (
    CHUNKING,
    COMMON_WORD,
    PARTS,
    QUESTIONS,
    find_parts,
    find_versions,
    hash_of,
    write_version,
)
from tests.support.client import Api
from tests.support.database import held_up, on_another_connection
from tests.support.documents import answer_from, answered, ingest_text_of

pytestmark = pytest.mark.django_db(transaction=True)

HOUSE = "Kaba"
_, _, BOTH, SUMMARISE = QUESTIONS


@pytest.fixture
def houses() -> Collection:
    return create_collection("houses", embedding_model="hashing-64", chunking=CHUNKING)


def put(collection: Collection, version: int, **attributes: Any) -> Any:
    given = {"source_uri": "note:1", "title": f"House {HOUSE}", "metadata": {"version": version}}
    return ingest_text_of(collection)(write_version(HOUSE, version), **{**given, **attributes})


def first_of(act: Callable[[], object], method: Any) -> Callable[..., Any]:
    """Return the method, before whose first call ``act`` is done elsewhere."""
    left = [act]

    def run(*args: Any, **kwargs: Any) -> Any:
        while left:
            on_another_connection(left.pop())
        return method(*args, **kwargs)

    return run


def search(**fields: Any) -> list[dict[str, Any]]:
    body = {"query": COMMON_WORD, "collection": "houses", "rerank": False, "top_k": 50, **fields}
    return list(Api().post("/search", body).json()["results"])


@pytest.mark.parametrize("mode", ["hybrid", "semantic", "lexical"])
def test_a_search_finds_all_of_the_version_it_began_with(
    houses: Collection, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    put(houses, 1, tags=("east",))
    replacing = first_of(lambda: put(houses, 2, tags=("west",)), CandidateSearch.compare)
    monkeypatch.setattr(CandidateSearch, "compare", replacing)
    found = search(mode=mode, tags=["east"])
    assert {part for each in found for part in find_parts(each["content"])} == PARTS
    assert {each["metadata"]["version"] for each in found} == {1}
    assert search(mode=mode, tags=["east"]) == []
    found = search(mode=mode, filters={"type": "eq", "key": "version", "value": 2})
    assert {part for each in found for part in find_parts(each["content"])} == PARTS


@pytest.mark.parametrize("of_it", ["", "/passage?start=0&end=20"])
def test_a_page_of_a_document_reads_one_state_of_it(
    houses: Collection, monkeypatch: pytest.MonkeyPatch, of_it: str
) -> None:
    document_id = put(houses, 1).document_id
    read = DocumentQuerySet.slice_of_text
    deleting = first_of(lambda: delete_document(UUID(document_id)), read)
    monkeypatch.setattr(DocumentQuerySet, "slice_of_text", deleting)
    address = f"/ui/documents/{document_id}{of_it}"
    shown = Client().get(address)
    assert shown.status_code == 200
    assert COMMON_WORD in shown.content.decode()
    assert Client().get(address).status_code == 404


def ask(question: str) -> dict[str, Any]:
    given = {"q": question.format(place=HOUSE), "collection": "houses"}
    return dict(Api().get("/answer", given).json())


def versions_of(answer: dict[str, Any]) -> list[int]:
    """The version of each citation."""
    known = {hash_of(HOUSE, version): version for version in (1, 2)}
    return [known[each["content_sha256"]] for each in answer["citations"]]


def test_a_summary_is_of_one_version(houses: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    put(houses, 1)
    replacing = first_of(lambda: put(houses, 2), documents_search._sections_at)
    monkeypatch.setattr(documents_search, "_sections_at", replacing)
    assert set(versions_of(ask(SUMMARISE))) == {1}
    assert set(versions_of(ask(SUMMARISE))) == {2}


def test_what_is_summed_up_is_found_again_once_it_was_replaced(
    houses: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(houses, 1)
    replacing = first_of(lambda: put(houses, 2), documents_search.read_sections)
    monkeypatch.setattr("qa.graph.read_sections", replacing)
    assert set(versions_of(ask(SUMMARISE))) == {2}


class Replacer(Listener):
    """Replaces the document once a part of the question was answered from it."""

    def __init__(self, act: Callable[[], object]) -> None:
        self._left = [act]

    def on_step(self, step: str) -> None:
        if step == "cite" and self._left:
            on_another_connection(self._left.pop())


def test_the_parts_of_a_question_are_answered_from_one_version(houses: Collection) -> None:
    put(houses, 1)
    context = replace(build_context(), listener=Replacer(lambda: put(houses, 2)))
    question = BOTH.format(place=HOUSE)
    made = answer_question(question, collection="houses", k=8, context=context).answer
    cited = {each.passage.content_sha256 for each in made.citations}
    assert cited == {hash_of(HOUSE, 1)}
    assert find_versions(made.text) == {1}
    assert len(made.unanswered) == 1
    assert versions_of(ask(BOTH)) == [2, 2]


def test_passages_that_an_answer_points_to_are_read_from_one_version(
    houses: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A part that both versions have keeps its chunk, which is at another place afterwards."""
    stored = put(houses, 1)
    site = Chunk.objects.get(text__contains="east bank")
    start, end = site.start_char, site.end_char
    span = {"document_id": stored.document_id, "content_sha256": hash_of(HOUSE, 1),
            "start_char": start, "end_char": end, "score": 0.3}  # fmt: skip
    replacing = first_of(lambda: put(houses, 2), ChunkQuerySet.with_document)
    monkeypatch.setattr(ChunkQuerySet, "with_document", replacing)
    (close,) = read_passages([span]).values()
    assert close.quote == write_version(HOUSE, 1)[start:end]
    assert read_passages([span]) == {}


def test_an_answer_that_is_kept_meanwhile_stops_no_replacement(houses: Collection) -> None:
    stored = put(houses, 1)
    key = Chunk.objects.get(text__contains="is kept by")
    answer = answer_from(stored.document_id, str(key.pk))
    with held_up(lambda: put(houses, 2)):
        record_answer(answered(answer), collection=houses)
    assert Document.objects.get().content_sha256 == hash_of(HOUSE, 2)
    assert Citation.objects.get().chunk_id is None
