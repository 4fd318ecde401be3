"""Questions for the documents that speak of something, and whether a text does."""

from dataclasses import replace

import pytest

from qa.asked.mentions import (
    MOST_WORDS,
    choose_mentions,
    find_topic_sought,
    mentions,
    point_to,
    speaks_of,
)
from qa.types import ClosePassage, Passage


@pytest.mark.parametrize(
    ("text", "topic"),
    [
        ("Which documents talk about monitoring?", "monitoring"),
        ("What pages mention PSI?", "PSI"),
        ("Which of the documents here cover blue-green deployment?", "blue-green deployment"),
        ("Which guide is about drift?", "drift"),
        ("In which documents is PSI mentioned?", "PSI"),
        ("Find all documents about drift", "drift"),
        ("List the files that mention a canary release.", "a canary release"),
        ("Are there any documents on drift?", "drift"),
        ("Which files contain information about drift?", "drift"),
        ("Which documents contain a drift check?", "a drift check"),
        ("Which file contains the encrypted passwords?", ""),
        ("What sources contain vitamin C?", ""),
        ("Which documents are about to expire?", ""),
        ("Which documents are required?", ""),
        ("Which pages wake a person?", ""),
        ("Which document did he write about drift?", ""),
        ("Which book mentions drift?", ""),
        ("What is said about drift?", ""),
        (f"Which documents mention {'a ' * MOST_WORDS}?", ""),
        ("", ""),
    ],
)
def test_what_documents_are_sought_for_is_found(text: str, topic: str) -> None:
    assert find_topic_sought(text) == topic


def test_a_text_speaks_of_what_it_has_all_telling_words_of() -> None:
    assert speaks_of("Canary releases are slow.", "a canary release")
    assert not speaks_of("Releases are slow.", "a canary release")
    assert not speaks_of("It is there.", "it")


def passage(document_id: str, text: str, *headings: str) -> Passage:
    return Passage(text, document_id, "0" * 64, "Guide", "", headings, None, text, 0, len(text))


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
