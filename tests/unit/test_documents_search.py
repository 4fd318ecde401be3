"""Documents that speak of something, and whether a text does."""

from dataclasses import replace

from qa.grounding.support.words import speaks_of
from qa.search.document_search import choose_mentions, mentions, point_to
from qa.types import ClosePassage, Passage
from tests.support import passages


def test_a_text_speaks_of_what_it_has_all_telling_words_of() -> None:
    assert speaks_of("Canary releases are slow.", "a canary release")
    assert not speaks_of("Releases are slow.", "a canary release")
    assert not speaks_of("It is there.", "it")


def passage(document_id: str, text: str, *headings: str) -> Passage:
    return passages.passage(
        text, chunk_id=text, document_id=document_id, title="Guide", heading_path=headings
    )


def test_each_document_that_speaks_of_it_is_told_by_its_first_passage() -> None:
    bread, drift = passage("d1", "Bread."), passage("d2", "Drifts.")
    further, below = passage("d2", "Drift again."), passage("d3", "It is slow.", "Drift")
    assert mentions(below, "drift")
    assert not mentions(bread, "drift")
    assert choose_mentions([bread, drift, further, below], "drift") == [drift, below]


def test_where_no_passage_has_the_words_the_first_of_all_are_told() -> None:
    bread, cake, salt = passage("d1", "Bread."), passage("d1", "Cake."), passage("d2", "Salt.")
    assert choose_mentions([bread, cake, salt], "drift") == [bread, salt]
    assert choose_mentions([], "drift") == []


def test_the_sentence_that_speaks_of_it_is_pointed_at() -> None:
    text = "# Drift\n\nBread is baked. Drifts are slow. Drift ends."
    found = replace(passage("d1", text), start_char=10, end_char=10 + len(text))

    def pointed(read: str, topic: str) -> str:
        start = found.start_char + text.index(read)
        return point_to(ClosePassage(found, start, start + len(read), 0.3), topic).quote

    assert pointed("Bread is baked.", "drift") == "Drifts are slow."
    assert pointed("Drift ends.", "drift") == "Drift ends."
    assert pointed("Bread is baked.", "cakes") == "Bread is baked."
