"""What counts as held up by a source: honest quotes do, falsified ones never."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from corpus.sentences import sentence_spans
from qa.grounding.support import judge_claim, keeps_facts
from qa.grounding.support.numbers import read_numbers
from qa.grounding.support.omissions import may_leave_out_rest
from qa.grounding.support.polarity import are_opposed
from qa.grounding.support.verdict import PARTIAL_FROM
from qa.grounding.support.words import read_words, stem
from tests.support.drawing import examples
from tests.support.falsified import falsify_all, honest_variants

DOCUMENTS = Path(__file__).parents[2] / "data" / "documents"


def credulous(claim: str, texts: Sequence[str]) -> NDArray[np.float32]:
    """The judge that is easiest to deceive: all is relevant. Only the hard checks are left."""
    return np.full(len(texts), 10.0, np.float32)


def indifferent(claim: str, texts: Sequence[str]) -> NDArray[np.float32]:
    return np.zeros(len(texts), np.float32)


def verdict_of(claim: str, *sources: str) -> str:
    return judge_claim(claim, sources, score=credulous).verdict


# Of what the documents have little: prefixes, signs, limits, decimal points.
EASILY_FALSIFIED = [
    "The compound is non-toxic and costs 5 euros.", "The panel of so-called experts met twice.",
    "Patients aged < 12 are excluded.", "Sales rose 5 % in May.",
    "It weighs .5 kg when it is dry.", "It was \u00b1 3 mm in the test.",
    "It works rarely.", "You may smoke unless there are children.",
    "All may enter, except contractors.", "The dose was 0.25 mg, which was not raised.",
]  # fmt: skip


@pytest.fixture(scope="module")
def paragraphs() -> dict[str, list[str]]:
    """Each sentence of the documents with those around it."""
    around = {}
    for path in sorted(DOCUMENTS.glob("*.md")):
        text = path.read_text()
        sentences = [text[start:end] for start, end in sentence_spans(text)]
        for at, sentence in enumerate(sentences):
            if len(sentence.split()) >= 5 and sentence[0] not in "#|-":
                around[sentence] = sentences[max(0, at - 2) : at + 3]
    return around


def test_no_falsified_quote_is_held_up(paragraphs: dict[str, list[str]]) -> None:
    sources = paragraphs | {sentence: [sentence] for sentence in EASILY_FALSIFIED}
    falsified = falsify_all(list(sources), count=examples(400), seed=11)
    assert len(falsified) == examples(400)
    assert len({each.kind for each in falsified}) == 13
    found = [(e, judge_claim(e.text, sources[e.original], score=credulous)) for e in falsified]
    assert [each for each, support in found if support.verdict == "supported"] == []
    partial = [each for each, support in found if support.score >= PARTIAL_FROM]
    assert partial == [each for each, support in found if support.verdict == "partial"]
    assert {each.kind for each in partial} == {"word"}
    assert len(partial) < len(falsified) / 4


def test_honest_quotes_are_held_up(paragraphs: dict[str, list[str]]) -> None:
    lost = [
        variant
        for sentence in list(paragraphs)[::3]
        for variant in honest_variants(sentence)
        if judge_claim(variant, paragraphs[sentence], score=indifferent).verdict != "supported"
    ]
    assert lost == []


MILL = "The mill, which was built in 1874, does not grind rye because its stone is broken."


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        (MILL, "supported"),
        ("The mill does not grind rye.", "supported"),
        ("The mill doesn\u2019t grind rye.", "supported"),
        ("The mill was built in 1874.", "supported"),
        ("The mill does grind rye.", "contradicted"),
        ("The mill grinds rye because its stone is broken.", "contradicted"),
        ("The mill was built in 1875.", "contradicted"),
        ("The mill, which was not built in 1874, does not grind rye.", "contradicted"),
        ("The mill does not grind wheat.", "partial"),
        ("Anna does not grind rye because its stone is broken.", "unsupported"),
    ],
)
def test_quote_with_one_change_is_supported_no_more(claim: str, verdict: str) -> None:
    assert verdict_of(claim, MILL) == verdict


@pytest.mark.parametrize(
    ("claim", "source", "verdict"),
    [
        ("Sales rose in May.", "Sales fell in May.", "contradicted"),
        ("Keys must be rotated.", "Keys must not be rotated.", "contradicted"),
        ("All models are signed.", "None of the models are signed.", "contradicted"),
        ("It is checked before release.", "It is checked after release.", "contradicted"),
        ("Latency is more than 20 ms.", "Latency is less than 20 ms.", "contradicted"),
        ("It holds five percent.", "It holds 5% of it.", "supported"),
        ("It holds 1200 rows.", "It holds 1,200 rows.", "supported"),
        ("It holds 1200 rows.", "It holds 12,000 rows.", "contradicted"),
        ("It takes 5 mg of salt.", "It takes 5 g of salt.", "contradicted"),
        ("It was on 14 January 2025.", "It was on 2025-01-14.", "supported"),
        ("In Oslo he met Anna.", "He met Anna in Oslo.", "supported"),
        ("Berlin beat Hamburg.", "Hamburg beat Berlin.", "unsupported"),
        ("Elephants fly to the moon.", "The mill was built in 1874.", "unsupported"),
        ("It may be used.", "It must be used.", "contradicted"),
        ("Drift grows.", "Drift grows only on Mondays.", "contradicted"),
    ],
)
def test_verdict_by_what_differs(claim: str, source: str, verdict: str) -> None:
    assert verdict_of(claim, source) == verdict


@pytest.mark.parametrize(
    ("claim", "source"),
    [
        # A prefix, or a word like one.
        ("The compound is toxic.", "The compound is non-toxic."),
        ("The compound is toxic to rats in the lab.", "It was found to be non-toxic."),
        ("It was a war rally.", "It was an anti-war rally."),
        ("The president spoke.", "The ex-president spoke."),
        ("The president spoke.", "The former president spoke."),
        ("He is a spy.", "He is an alleged spy."),
        ("He is a spy.", "He is a spy, allegedly."),
        ("It is an expert panel.", "It is a so-called expert panel."),
        ("It is a science.", "It is a pseudo-science."),
        ("It is complete.", "It is near-complete."),
        ("It is complete.", "It is almost complete."),
        ("The beer is alcohol.", "The beer is alcohol-free."),
        # A number is kept with its signs and unit.
        ("It weighs 5 kg.", "It weighs .5 kg."),
        ("It weighs 5.", "It weighs 5 kg."),
        ("It weighs 5 in all.", "It weighs 5 barrels in all."),
        ("It weighs 5 lasts.", "It weighs 5 barrels."),
        ("It costs 5 in all.", "It costs USD 5 in all."),
        ("It needs 5 mg.", "It needs 5 mg/l."),
        ("It has 106 cells.", "It has 10\u2076 cells."),
        ("It has 10 cells.", "It has 10\u2076 cells."),
        ("It has 5 m.", "It has 5 m\u00b2."),
        ("It is 51/2 inches.", "It is 5\u00bd inches."),
        ("Those aged 12 are excluded.", "Those aged < 12 are excluded."),
        ("Those aged 12 are excluded.", "Those aged \u2265 12 are excluded."),
        ("Those aged 12 are excluded.", "Those aged 12+ are excluded."),
        ("It rose 5 in May.", "It rose 5 % in May."),
        ("It is 5 mm.", "It is 5 \u00b1 2 mm."),
        ("It was 5 degrees.", "It was -5 degrees."),
        ("They were aged 5.", "They were aged 5\u201310."),
        ("It opens at 10.", "It opens at 10:30."),
        # A limit is kept with what it limits.
        ("It works.", "It works rarely."),
        ("It works.", "It hardly works."),
        ("It works.", "It works no longer."),
        ("It works.", "It never works."),
        ("It works.", "It works only if it rains."),
        ("It works.", "It works, provided that it rains."),
        ("It works.", "If it rains, it works."),
        ("It works.", "It works until it rains."),
        ("It works.", "It works without oil."),
        ("It works.", "It works, but not in winter."),
        ("It works.", "It works, and then only in winter."),
        ("You may smoke.", "You may smoke unless there are children."),
        ("All may enter.", "All may enter, except contractors."),
        ("It excludes patients.", "It excludes patients who smoke."),
        ("It is bread.", "It is bread or butter."),
        ("8.", "They left at 8."),
        ("It is faster.", "It is faster than light."),
        ("The mill is closed.", "He denies that the mill is closed."),
        ("The mill is closed.", "It is not true that the mill is closed."),
        ("The mill is closed.", "It is unclear whether the mill is closed."),
    ],
)
def test_what_takes_the_meaning_away_is_kept(claim: str, source: str) -> None:
    assert verdict_of(claim, source) in {"unsupported", "contradicted"}
    assert verdict_of(source, source) == "supported"


@pytest.mark.parametrize(
    ("claim", "source"),
    [
        ("The mill is here.", "The mill is here, which opened in 1990."),
        ("The mill was built in 1874.", "The mill was built in 1874 by the engineer."),
        ("The mill is closed.", "We show that the mill is closed."),
        ("It runs.", "It runs, but rusts if it is wet."),
        ("It runs.", "It runs, and a new one usually does not."),
        ("The mill was sold.", "The mill, which runs only in May, was sold."),
        ("The state of the art is good.", "The state-of-the-art is good."),
        ("The device is nontoxic.", "The device is non-toxic."),
    ],
)
def test_what_limits_nothing_may_be_left_out(claim: str, source: str) -> None:
    assert judge_claim(claim, [source], score=indifferent).verdict == "supported"


@pytest.mark.parametrize(
    ("claim", "source"),
    [
        ("Das Ger\u00e4t ist wasserdicht.", "Das Ger\u00e4t ist nicht wasserdicht."),
        ("Das Ger\u00e4t wasserdicht.", "Das Ger\u00e4t ist wasserdicht."),
        ("Le moulin est ouvert.", "Le moulin n'est pas ouvert."),
        ("El molino abre.", "El molino abre, salvo en enero."),
        ("\u8fd9\u662f \u597d\u7684", "\u8fd9\u662f \u4e0d\u597d\u7684"),
        ("\u0915\u093f\u0924\u093e\u092c \u0939\u0948", "\u0915\u0924\u093e\u092c \u0939\u0948"),
    ],
)
def test_text_that_is_not_english_is_quoted_whole(claim: str, source: str) -> None:
    assert verdict_of(claim, source) != "supported"
    assert verdict_of(source.upper(), source) == "supported"
    assert judge_claim(source, [source], score=indifferent).verdict == "supported"


def test_other_words_in_another_language_hold_up_in_part_at_most() -> None:
    source = "Das Ger\u00e4t von Bavoke wird nirgends wasserdicht genannt, sagt Orsolya Quill."
    assert verdict_of("Orsolya Quill nennt das Ger\u00e4t wasserdicht.", source) == "partial"


def test_long_sentence_is_quoted_whole_or_not_at_all() -> None:
    said = " ".join(f"The mill {number} is open and old." for number in range(100, 150))
    long = said.replace(".", "") + "."
    assert verdict_of(long, long) == "supported"
    assert verdict_of(long.replace(" 120 is", " 120 was not"), long) == "unsupported"


anything = st.text(max_size=80) | st.lists(
    st.sampled_from(
        ["n't", "does", "n't.", "5", ".5", "10\u2076", "^-1", "0", "-", "billion", "five",
         "hundred", "9" * 40, "1,000", "per", "cent", "%", "if", "that", "the", "or", "'s", "non-",
         "\u00bd", ","]
    ),
    max_size=12,
).map(" ".join)  # fmt: skip


@given(anything, anything)
@example("It does n't.", "It does n't work.")
@example("9" * 40 + " five", "-0^-1 hundred and five")
def test_no_text_is_too_odd(claim: str, source: str) -> None:
    read_numbers(read_words(claim))
    assert judge_claim(claim, [source, claim], score=credulous).score >= 0
    keeps_facts(claim, source)


CREDITED = "The role of the pancreas is generally ascribed to Minkowski of Los Angeles."


@pytest.mark.parametrize(
    ("claim", "source"),
    [
        ("The role of the pancreas is generally credited to Minkowski of Los Angeles.", CREDITED),
        ("The role of the pancreas is generally ascribed to Minkowski of LA.", CREDITED),
        ("The gland of the pancreas is often ascribed to Minkowski of Los Angeles.", CREDITED),
        ("Only 5 mg of salt is needed.", "Only 5 mg of salt is required."),
        ("Scientists found that the mill is old.", "Researchers found that the mill is old."),
        ("Sadly, the mill was sold in 1874.", "Later, the mill was sold in 1874."),
        ("In 1874 the old mill was mended.", "The old mill was painted in 1874."),
    ],
)
def test_altered_word_that_is_no_fact_is_partial(claim: str, source: str) -> None:
    found = judge_claim(claim, [source], score=credulous)
    assert found.verdict == "partial"
    assert found.score >= PARTIAL_FROM


@pytest.mark.parametrize(
    ("claim", "source"),
    [
        ("The hall was bought for 7 dollars in May.", "The mill was sold for 6 dollars in May."),
        ("The old mill was sold for one dollar.", "The old mill was sold for two dollars."),
        ("The mill was bought by Berta Quill.", "The mill was sold by Orsolya Quill."),
        ("Zorg bought the old mill in May.", "Anna bought the old mill in May."),
        ("The mill was never sold by Anna.", "The mill was once sold by Anna."),
        ("The mill was often sold by Anna.", "The mill was never sold by Anna."),
        ("It needs 5 grams of salt a day.", "It takes 5 barrels of salt a day."),
        ("It needs 5 g of salt a day.", "It takes 5 mg of salt a day."),
        ("The mill lost 5 tonnes in May.", "The mill lost 5 in May."),
        ("It rose by < 5 in the old mill.", "It rose by > 5 in the old mill."),
        ("Sales of bread rose in the old mill.", "Sales of rye fell in the old mill."),
        ("It was a big war rally in May.", "It was a large anti-war rally in May."),
        ("Hamburg thrashed Berlin.", "Berlin beat Hamburg."),
    ],
)
def test_altered_fact_is_never_partial_and_scores_low(claim: str, source: str) -> None:
    others = ["Zorg, Berta and 7 others ate 5 g of salt.", "It was one dollar."]
    found = judge_claim(claim, [source, *others], score=credulous)
    assert found.verdict in {"unsupported", "contradicted"}
    assert found.score < PARTIAL_FROM / 2


def test_fact_in_the_place_of_another_is_not_saved_by_another_sentence() -> None:
    built, sold = "The mill at Bavoke was built in 1874.", "In 1875 much was sold."
    assert verdict_of("The mill at Bavoke was built in 1875.", built, sold) == "contradicted"
    assert verdict_of("The mill at Bavoke was sold in 1874.", built, sold) == "partial"


TALE = [
    "It grinds rye for the people of the old town.",
    "Orsolya Quill (OQ) of the U.S. has run it.",
]


@pytest.mark.parametrize(
    ("claim", "is_held_up"),
    [
        ("In the old U.S. town Orsolya grinds rye for people.", True),
        ("In the old US town OQ grinds rye for people.", True),
        ("In the old town of 12 mills Orsolya grinds rye for people.", False),
        ("In the old town Berta grinds rye for people.", False),
    ],
)
def test_names_and_numbers_are_looked_for_in_all_evidence(claim: str, is_held_up: bool) -> None:
    assert (verdict_of(claim, *TALE) in {"supported", "partial"}) is is_held_up


def test_names_and_numbers_of_headings_are_known() -> None:
    claim = "In the old town the 12 mills of Berta grind rye for people."
    assert verdict_of(claim, *TALE) == "unsupported"
    found = judge_claim(claim, TALE, score=credulous, headings=["The 12 mills of Berta"])
    assert found.verdict in {"supported", "partial"}


def test_claim_that_no_sentence_is_near_to_keeps_its_chance() -> None:
    found = judge_claim("Elephants eat rye in winter.", TALE, score=indifferent)
    assert found.verdict == "unsupported"
    assert 0.1 < found.score < PARTIAL_FROM


def test_verdict_and_score_agree() -> None:
    held = judge_claim("The mill does not grind rye.", [MILL], score=credulous)
    against = judge_claim("The mill does grind rye.", [MILL], score=credulous)
    assert held.score > 0.5 > against.score
    assert (held.index, against.index) == (0, 0)


def test_no_sources_support_nothing() -> None:
    assert judge_claim("Rye.", [], score=credulous).verdict == "unsupported"
    assert judge_claim("...", [MILL], score=credulous).verdict == "unsupported"


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("twenty-five percent", [(25, "percent")]),
        ("two hundred and five km", [(205, "km")]),
        ("$3.5 million", [(3_500_000, "dollar")]),
        ("1,234.50 kg and 7", [(1234.5, "kg"), (7, "")]),
        ("from 1874 to 1890", [(1874, ""), (1890, "")]),
        ("at \u22125 degrees", [(-5, "degree")]),
        ("5 per cent", [(5, "percent")]),
        (".50 kg and -.5", [(0.5, "kg"), (-0.5, "")]),
        ("10\u2076 m\u00b2 and 10^-3 m", [(10**6, "m^2"), (0.001, "m")]),
        ("in 12345 five", [(12345, ""), (5, "")]),
        ("0^-1 m", []),
        ("0^0 m", []),
    ],
)
def test_numbers_are_read_with_their_units(text: str, numbers: list[tuple[float, str]]) -> None:
    assert [(float(n.value), n.unit) for n in read_numbers(read_words(text))] == numbers


@pytest.mark.parametrize(
    ("claim", "source", "kept"),
    [
        ("It does not rise.", "It falls.", True),
        ("Only ten of them came.", "10 came.", True),
        ("It was in January.", "It was in June.", False),
        ("It grew by 5 percent.", "It grew by 5 percent in May.", True),
        ("It grew by 6 percent.", "It grew by 5 percent in May.", False),
        ("It isn't open.", "It is not open.", True),
        ("It isn\u2019t open.", "It is not open.", True),
        ("He met Anna in Oslo.", "In Oslo he met Anna.", True),
        ("He met Anna in Bergen.", "In Oslo he met Anna.", False),
    ],
)
def test_facts_are_kept(claim: str, source: str, kept: bool) -> None:
    assert keeps_facts(claim, source) is kept


def test_words_may_be_left_out_anywhere_unless_they_limit_the_rest() -> None:
    assert not may_leave_out_rest(read_words("It is dark."), remaining=set())
    assert left("The mill slowly grinds fine rye daily.", "the", "mill", "grinds", "rye")
    assert not left("The mill never grinds fine rye daily.", "the", "mill", "grinds", "rye")


def left(text: str, *kept: str) -> bool:
    words = read_words(text)
    places = {at for at, word in enumerate(words) if word.text in kept}
    return may_leave_out_rest(words, remaining=places)


def test_an_example_that_is_given_may_stand_alone() -> None:
    assert left("We grind all grains, including rye.", "we", "grind", "rye")
    text = "Several grains, including rye, are ground."
    assert left(text, "several", "grains", "rye", "are", "ground")


def test_over_and_under_before_the_same_stem_are_opposed() -> None:
    assert are_opposed(stem("overestimated"), stem("underestimated"))
    assert not are_opposed(stem("overestimated"), stem("underlined"))
