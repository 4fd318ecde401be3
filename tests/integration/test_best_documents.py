"""Further passages of the documents that fit a question best are found, too."""

import pytest

from corpus.models import Chunk
from qa.search.hybrid import HybridRetriever
from qa.types import Passage, Query
from tests.support.documents import LIGHTHOUSE, Ingest, long_text

# Names the subject of one document, and says what stands in another of its passages in words that
# are not there.
QUESTION = "How many flights of stairs does the man of the Bavoke lighthouse go up each night?"
# Nearer to the question's meaning than that passage, in other words.
OTHERS = [
    f"The {person} of Lindow climbs a staircase of the {tower} every evening."
    for person, tower in (
        ("sexton", "belfry"), ("watchman", "fort"), ("miller", "mill"), ("astronomer", "dome"),
        ("warden", "castle"), ("pilot", "beacon"), ("gunner", "bastion"), ("clerk", "archive"),
    )
]  # fmt: skip


def find(*, tags: tuple[str, ...] = ()) -> list[Passage]:
    retriever = HybridRetriever(alpha=0.5, candidate_count=4)
    return retriever.retrieve(Query(QUESTION, "default", tags=tags), limit=4).passages


@pytest.fixture
def library(ingest: Ingest) -> None:
    first, second = LIGHTHOUSE.split("\n\n")
    # Too long for one chunk.
    text = f"# Tower\n\n{first}\n\n{long_text(1)}\n\n# Evenings\n\n{second}"
    ingest(text, title="leaflet", tags=["coast"])
    for number, other in enumerate(OTHERS):
        ingest(other, title=f"other {number}", tags=["town"])


@pytest.mark.usefixtures("library")
def test_a_passage_is_found_in_the_document_that_the_question_names() -> None:
    assert any("212 steps" in passage.text for passage in find())


@pytest.mark.usefixtures("library")
def test_they_have_the_tag_that_is_asked_for() -> None:
    Chunk.objects.filter(text__contains="212 steps").get().tags.clear()
    found = find(tags=("coast",))
    assert {passage.title for passage in found} == {"leaflet"}
    assert not any("212 steps" in passage.text for passage in found)
