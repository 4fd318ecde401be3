"""A passage is found by the words that only its file's name has."""

import pytest

from corpus.ingestion.submission import Attributes
from corpus.invariants import find_violations
from corpus.models import Collection, Document
from qa.search.hybrid import default_retriever
from qa.types import Passage, Query
from tests.support.documents import ingest_file

RULE = "# Taking leave\n\nWho wants to take leave asks {whom} {days} days before it begins.\n"
QUESTION = Query("How early do I ask for leave at Lindow?", collection="default")


def store(name: str, *, whom: str, days: int, collection: Collection, title: str = "") -> Document:
    content = RULE.format(whom=whom, days=days).encode()
    stored = ingest_file(
        content, filename=name, collection=collection, attributes=Attributes(title=title)
    )
    return Document.objects.get(pk=stored.document_id)


def find() -> list[Passage]:
    return default_retriever().retrieve(QUESTION, limit=3).passages


@pytest.fixture
def rules(collection: Collection) -> None:
    store("bavoke-leave.md", whom="the harbour master", days=30, collection=collection)
    store("lindow-leave.md", whom="the miller", days=14, collection=collection)
    store("quarry-leave.md", whom="the overseer", days=7, collection=collection)


@pytest.mark.usefixtures("rules")
def test_the_document_of_the_named_organization_comes_first() -> None:
    first = find()[0]
    assert "14 days" in first.text
    assert (first.title, first.breadcrumb) == ("Taking leave", "lindow: Taking leave")
    assert list(find_violations()) == []


def test_a_title_that_says_it_already_stays(collection: Collection) -> None:
    document = store("lindow.md", whom="me", days=2, collection=collection, title="Leave in Lindow")
    assert (document.file_words, document.title) == ("", "Leave in Lindow")
