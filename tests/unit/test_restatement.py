"""What may be said in other words than the source's, and what may not."""

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from qa.proof.support import find_departure, judge_claim
from qa.proof.support.synonyms import read_units
from qa.proof.support.words import read_words
from tests.falsified import falsify_all

TRUE = {
    "the same": ("The mill was built in 1874.", "The mill was built in 1874."),
    "a synonym": (
        "Kublai's government ran into financial difficulties after 1279.",
        "Kublai's government faced financial difficulties after 1279.",
    ),
    "a phrase for a word": (
        "The United States withdrew from the accord on August 15, 1971.",
        "On August 15, 1971, the United States unilaterally pulled out of the accord.",
    ),
    "whereas for while": (
        "Drift is a change in the world, whereas skew is a fault in the system.",
        "Drift is a change in the world, while skew is a fault in the system.",
    ),
    "a passive turned active": (
        "Orsolya Quill built the lighthouse at Bavoke in 1874.",
        "The lighthouse at Bavoke was built in 1874 by the engineer Orsolya Quill.",
    ),
    "an active turned passive": (
        "The lighthouse was built by Orsolya Quill in 1874.",
        "Orsolya Quill built the lighthouse in 1874.",
    ),
    "a phrase moved to the end": (
        "Anna Holt owned the mill in the spring of 1874.",
        "In the spring of 1874 Anna Holt owned the mill.",
    ),
    "a noun of a verb": (
        "The monks founded a monastery at Bavoke.",
        "The monks established a monastery at Bavoke.",
    ),
    "what is recommended should be": (
        "A drift check should run once a week for every model.",
        "This guide recommends running a drift check once a week for every model.",
    ),
    "what is recommended, without a verb": (
        "Exact search is recommended for collections of up to 50,000 vectors.",
        "This guide recommends exact search for collections of up to 50,000 vectors.",
    ),
    "adjectives and adverbs left out": (
        "The mill was sold in the spring.",
        "The white wooden mill was carefully sold in the spring.",
    ),
    "an aside in a passive": (
        "The mill was let by Anna Holt.",
        "The mill, built of stone, was let by Anna Holt.",
    ),
    "a passive in both": (
        "The mill was built by Anna Holt.",
        "In 1874, the mill was built by Anna Holt.",
    ),
    "a list's other members left out": (
        "French forces destroyed 45,000 pounds of gunpowder.",
        "French forces destroyed the fort and many supplies, including 45,000 pounds of gunpowder.",
    ),
    "an aside on a name left out": (
        "Bell Northern Research developed DATAPAC.",
        "DATAPAC was developed by Bell Northern Research which was a venture of Bell Canada.",
    ),
}


@pytest.mark.parametrize(("claim", "source"), TRUE.values(), ids=TRUE)
def test_the_same_in_other_words_is_a_restatement(claim: str, source: str) -> None:
    assert find_departure(claim, source) == ""


RENTED = "The mill was let to the weavers of Bavoke by Anna Holt in 1874."
FALSE = {
    "always": ("The weavers of Bavoke always let the mill.", RENTED, "not in the source: always"),
    "an invented place": ("The mill was let in Tibet.", RENTED, "not in the source: tibet"),
    "a reason": (
        "The mill was let because Anna Holt left.",
        RENTED,
        "not in the source: because, left",
    ),
    "another year": ("The mill was let in 1875.", RENTED, "not in the source: 1875"),
    "a negation": ("Anna Holt did not let the mill.", RENTED, "not in the source: not"),
    "another verb": ("Anna Holt sold the mill.", RENTED, "not in the source: sold"),
    "doer and done to exchanged": (
        "The weavers of Bavoke let the mill to Anna Holt.",
        RENTED,
        "its words are in another order",
    ),
    "whom and what exchanged": (
        "The vectors are more valuable than the text.",
        "The text is more valuable than the vectors.",
        "its words are in another order",
    ),
    "another direction": (
        "Ships sailed from Oslo to Bergen.",
        "Ships sailed from Bergen to Oslo.",
        "its words are in another order",
    ),
    "hardly a word in its place": (
        "That it is in this of mill weavers.",
        "Mill weavers say that it is in this of the town.",
        "its words are in another order",
    ),
    "another unit": (
        "The tower is 330 feet or 101 metres tall.",
        "The tower is 330 metres or 101 feet tall.",
        "a number has another unit",
    ),
    "a condition left out": (
        "Logs are kept for 90 days.",
        "Logs are kept for 90 days unless a law says otherwise.",
        "what it leaves out of the source bears on the rest",
    ),
    "another one's deed": (
        "Anna Holt sold the farm.",
        "Anna Holt bought the mill and Berta sold the farm.",
        "what it leaves out of the source bears on the rest",
    ),
    "an owner for what is owned": (
        "King Henry died in the mill.",
        "King Henry's son died in the mill.",
        "what it leaves out of the source bears on the rest",
    ),
    "another event's year": (
        "In 1715 Amsterdam was the first to give citizens rights.",
        "In 1705, Amsterdam was the first to give citizens rights, then the Republic in 1715.",
        "what it leaves out of the source bears on the rest",
    ),
    "too little": ("In 1874.", RENTED, "it says too little to be compared"),
    "too much": ("The mill was let. " * 60, RENTED, "it is too long to be compared"),
    "another language": (
        "Die M\u00fchle wurde 1874 gebaut.",
        "Die M\u00fchle wurde im Jahr 1874 gebaut.",
        "the source is not English, of which nothing is said in other words",
    ),
}


@pytest.mark.parametrize(("claim", "source", "reason"), FALSE.values(), ids=FALSE)
def test_what_says_more_or_otherwise_is_none_and_why(claim: str, source: str, reason: str) -> None:
    assert find_departure(claim, source) == reason


def test_no_falsified_sentence_restates_its_original() -> None:
    sources = [source for _, source in TRUE.values()] + [source for _, source, _ in FALSE.values()]
    made = falsify_all(sources, count=200, seed=3)
    assert len(made) > 50
    assert [each for each in made if not find_departure(each.text, each.original)] == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("commenced", "began"),
        ("for example", "such as"),
        ("installation", "installed"),
        ("formally", "formal"),
    ],
)
def test_words_that_say_the_same_have_one_key(one: str, other: str) -> None:
    assert read_units(read_words(one))[0].key == read_units(read_words(other))[0].key


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("employer", "employee"),
        ("hardly", "hard"),
        ("international", "internal"),
        ("at least", "at most"),
        ("station", "state"),
        ("run, into", "faced"),
    ],
)
def test_words_that_only_look_alike_have_two(one: str, other: str) -> None:
    assert read_units(read_words(one))[0].key != read_units(read_words(other))[0].key


def _find_all_relevant(claim: str, texts: Sequence[str]) -> NDArray[np.float32]:
    return np.full(len(texts), 10.0, np.float32)


def test_a_quote_does_not_give_one_the_deeds_of_another() -> None:
    claim, source = FALSE["another one's deed"][:2]
    assert judge_claim(claim, [source], score=_find_all_relevant).verdict == "contradicted"
