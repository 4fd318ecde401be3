"""What is searched beside a query's own text, and that nothing comes through it beside."""

from dataclasses import replace

import pytest

from corpus.filters import parse_filter
from corpus.models import Collection, Embedding
from qa.search.hybrid import HybridRetriever
from qa.types import Passage, Query
from tests.support.documents import BAKERY, LIGHTHOUSE, Ingest, ingest_text_of

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


def test_what_only_another_phrasing_finds_comes_back() -> None:
    further = replace(FOREIGN, phrasings=(BREAD,))
    assert "bakery" not in titles(find(FOREIGN, mode="lexical"))
    assert "bakery" in titles(find(further, mode="lexical"))
    assert set(titles(find(FOREIGN, limit=2, rows=2))) == {"lighthouse", "granary"}
    assert "bakery" in titles(find(further, limit=2, rows=2))


@pytest.mark.parametrize("mode", MODES)
def test_passage_has_the_best_score_of_all_wordings_and_first_similarity(
    mode: str,
) -> None:
    query = replace(FOREIGN, phrasings=(BREAD, "Are goods reimbursed?", "Zxqv blorptang?"))
    alone = [{p.title: p for p in find(wording, mode=mode)} for wording in query.wordings]
    found = find(query, mode=mode)
    assert set(titles(found)) == set().union(*alone)
    for passage in found:
        scores = [each[passage.title].score for each in alone if passage.title in each]
        assert passage.score == pytest.approx(max(scores), abs=1e-6)
        if passage.title in alone[0]:
            assert passage.similarity == alone[0][passage.title].similarity
    assert [p.score for p in found] == sorted((p.score for p in found), reverse=True)


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


@pytest.mark.parametrize("mode", MODES)
def test_as_many_come_back_as_were_asked_for(mode: str) -> None:
    query = replace(FOREIGN, text=BREAD, phrasings=("Are goods reimbursed?", "Who winds the lens?"))
    assert len(find(query, mode=mode, limit=3)) == 3
    assert len(set(titles(find(query, mode=mode)))) == len(find(query, mode=mode))


@pytest.mark.parametrize("mode", MODES)
def test_the_question_again_changes_nothing(mode: str) -> None:
    query = replace(FOREIGN, text=BREAD)
    assert find(replace(query, phrasings=(BREAD,)), mode=mode) == find(query, mode=mode)


@pytest.mark.parametrize("mode", MODES)
def test_collection_tags_and_filters_hold_for_each_phrasing(mode: str) -> None:
    hidden = Collection.objects.create(
        name="hidden", embedding_model="bge-small-en-v1.5", dimension=384, chunk_size=200
    )
    ingest_text_of(hidden)(f"{BAKERY} The cellar is full of amber.", title="hidden", tags=["coast"])
    query = replace(FOREIGN, phrasings=(BREAD, "What is the cellar full of amber for?"))
    outside = {"hidden"}
    assert "bakery" in titles(find(query, mode=mode))
    assert outside.isdisjoint(titles(find(query, mode=mode)))
    by_tag = find(replace(query, tags=("coast",)), mode=mode)
    assert set(titles(by_tag)) == {"lighthouse", "granary"}
    web = parse_filter({"type": "eq", "key": "source", "value": "web"})
    by_filter = find(replace(query, filters=web), mode=mode)
    assert set(titles(by_filter)) == {"lighthouse", "granary"}
    elsewhere = find(replace(query, collection="hidden"), mode=mode)
    assert titles(elsewhere) == ["hidden"]
