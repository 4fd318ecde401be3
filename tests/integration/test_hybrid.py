"""The sentences of a question are searched, too, and scores do not depend on the limit."""

from dataclasses import replace

import pytest

from corpus.models import Embedding
from qa.search.hybrid import HybridRetriever
from qa.types import Passage, Query
from tests.support.documents import BAKERY, LIGHTHOUSE, Ingest

pytestmark = pytest.mark.usefixtures("library")

MODES = ["hybrid", "semantic", "lexical"]
# Has no word of the bakery's document, and is nearer to others.
FOREIGN = Query("Where would the keeper of a lens get his victuals?", collection="default")
BREAD = "Who bakes rye bread with caraway?"
REFUND = (
    "Goods that are sent back within thirty days are reimbursed by the guild of Lindow in full."
)
GRANARY = "The granary keeper counts every sack of barley, and a lens of glass hangs in the door."


def find(query: Query, *, mode: str = "hybrid", limit: int = 50, rows: int = 50) -> list[Passage]:
    retriever = HybridRetriever(alpha=0.5, candidate_count=rows)
    return retriever.retrieve(query, limit=limit, mode=mode).passages


def titles(passages: list[Passage]) -> list[str]:
    return [passage.title for passage in passages]


@pytest.fixture
def library(ingest: Ingest) -> None:
    ingest(LIGHTHOUSE, title="lighthouse", tags=["coast"], source="web")
    ingest(GRANARY, title="granary", tags=["coast"], source="web")
    ingest(BAKERY, title="bakery", tags=["town"], source="cli")
    ingest(REFUND, title="refund", tags=["town"], source="cli")


def test_each_sentence_of_a_question_is_searched_for() -> None:
    """The same words as one sentence have one vector, which is near neither document."""
    keeper = "Who built the lighthouse at Bavoke and how tall is its tower of basalt"
    one, several = (
        {p.title: p.score for p in find(replace(FOREIGN, text=f"{keeper}{end} {BREAD}"))}
        for end in (", and", "?")
    )
    assert one["bakery"] + 0.01 < several["bakery"]
    assert one["refund"] == several["refund"] == 0


def test_a_chunk_without_a_vector_yet_is_found_by_its_words() -> None:
    Embedding.objects.filter(chunk__document__title="bakery").delete()
    found = find(replace(FOREIGN, text="Which caraway bread?"))
    assert titles(found)[0] == "bakery"
    assert found[0].similarity == 0


def test_a_passage_has_the_same_score_however_many_are_asked_for() -> None:
    query = replace(FOREIGN, text="From whom do sailors buy victuals?")
    few, all_of_them = find(query, limit=2, rows=2), find(query, limit=4, rows=2)
    assert (len(few), len(all_of_them)) == (2, 4)
    scores = {passage.title: passage.score for passage in all_of_them}
    assert [passage.score for passage in few] == [scores[title] for title in titles(few)]
