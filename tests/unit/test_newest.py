"""Of documents that disagree, which is the answer."""

from dataclasses import replace

import pytest

from qa.proof.newest import put_newest_first, tell_disagreement
from qa.types import Evidence, Passage
from tests.doubles import read_as

ANSWER_FROM = 0.5
BUILT = "When was the mill built?"
# What each says, by its last number.
SAID = {1: "1874", 2: "1881", 3: "1890", 4: "1874"}


def passage(number: int, date: str, *, score: float) -> Passage:
    text = f"The mill was built in {SAID[number]} by monks."
    found = Passage(
        chunk_id=f"c{number}", document_id=f"d{number}", content_sha256="0" * 64, title="",
        source_uri="", heading_path=(), page=None, text=text, start_char=0, end_char=len(text),
        score=score, document_date=date,
    )  # fmt: skip
    return read_as(found, SAID[number])


def estimate(evidence: Evidence) -> float:
    """Sure of all that is as near as the best one."""
    return 0.9 if evidence.behind > -0.2 else 0.1


def ordered(*dates: str) -> list[str]:
    """The chunks of passages of these days, each with less of a score than the one before."""
    scores = (1.0 - 0.3 * place for place in range(len(dates)))
    numbered = enumerate(zip(dates, scores, strict=True), start=1)
    passages = [passage(number, date, score=score) for number, (date, score) in numbered]
    found = put_newest_first(BUILT, passages, estimate=estimate, answer_from=ANSWER_FROM)
    assert [each.score for each in found] == sorted((p.score for p in found), reverse=True)
    assert [each.is_newest for each in found].count(True) <= 1
    return [each.chunk_id for each in found]


@pytest.mark.parametrize(
    ("dates", "first"),
    {
        "newer": (("2019-05-01", "2024-05-01"), "c2"),
        "older": (("2024-05-01", "2019-05-01"), "c1"),
        "newest of three": (("2019", "2021", "2024"), "c3"),
        "one day": (("2024-05-01", "2024-05-01"), "c1"),
        "none known": (("", ""), "c1"),
        "one known": (("", "2024-05-01"), "c1"),
        "the other one known": (("2024-05-01", ""), "c1"),
        "a day of that year": (("2024", "2024-05-01"), "c1"),
        "a later month": (("2024-03-31", "2024-05"), "c2"),
        "newer, but the same": (("2019", "", "", "2024"), "c1"),
        "newest, and the same again": (("2019", "2021", "", "2024"), "c4"),
        "the same again, but before": (("2019", "2024", "", "2021"), "c2"),
        "nothing found": ((), None),
    }.values(),
)  # fmt: skip
def test_the_newest_that_says_otherwise_comes_first(
    dates: tuple[str, ...], first: str | None
) -> None:
    found = ordered(*dates)
    assert (found[0] if found else None) == first
    assert sorted(found) == [f"c{number}" for number in range(1, len(dates) + 1)]


def put_first(one: Passage, other: Passage) -> list[Passage]:
    return put_newest_first(BUILT, [one, other], estimate=estimate, answer_from=ANSWER_FROM)


OLDER, NEWER = passage(1, "2019", score=1.0), passage(2, "2024", score=0.3)


def test_it_has_the_score_of_the_one_that_it_comes_before() -> None:
    assert put_first(OLDER, NEWER) == [replace(NEWER, score=1.0, is_newest=True), OLDER]


def test_an_older_answer_stays_where_the_newer_one_would_not_be_sure_enough() -> None:
    def unsure(evidence: Evidence) -> float:
        return 0.9 if evidence.reading > -1 else 0.1

    assert NEWER.reading is not None
    doubtful = replace(NEWER, reading=replace(NEWER.reading, score=-5.0))
    passages = [OLDER, doubtful]
    assert put_newest_first(BUILT, passages, estimate=unsure, answer_from=ANSWER_FROM) == passages


def test_nothing_moves_where_nothing_is_sure() -> None:
    def never(_: Evidence) -> float:
        return 0.1

    passages = [OLDER, NEWER]
    assert put_newest_first(BUILT, passages, estimate=never, answer_from=ANSWER_FROM) == passages


def test_nothing_moves_where_nothing_is_marked_or_read() -> None:
    for likeliest in (read_as(OLDER, ""), replace(OLDER, reading=None)):
        assert put_first(likeliest, NEWER)[0] in (likeliest, NEWER)
        assert not any(each.is_newest for each in put_first(likeliest, NEWER))


def test_the_lead_tells_the_days_of_what_is_quoted() -> None:
    assert tell_disagreement([""]) == "Your documents disagree:"
    told = tell_disagreement(["2024-05-01", "", "2023", "2024-05-01"])
    assert told == "Your documents disagree (the answer is of 2024-05-01 and 2023):"
