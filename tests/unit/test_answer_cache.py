"""What the cache of answers holds, and what it lets go."""

from dataclasses import replace
from time import monotonic
from uuid import uuid4

import pytest

from qa.answer_cache import MAX_AGE_S, AnswerCache, AnswerKey
from tests.support.documents import SHORT_ANSWER, answered

MONOTONIC = "qa.answer_cache.monotonic"
KEY = AnswerKey("q", (1,), frozenset(), "", 5, (), "", "ida")
FIRST, SECOND = frozenset([uuid4()]), frozenset([uuid4()])
ANSWER = answered(SHORT_ANSWER)


def test_an_answer_is_found_by_the_version_that_it_was_made_from() -> None:
    cache = AnswerCache()
    cache.set(KEY, FIRST, ANSWER, max_entries=5)
    assert cache.get(KEY, FIRST) is ANSWER
    assert cache.get(KEY, SECOND) is None
    assert cache.get(KEY._replace(principal="another"), FIRST) is None


def test_those_that_were_not_asked_for_longest_go_first() -> None:
    cache = AnswerCache()
    keys = [KEY._replace(question=str(number)) for number in range(3)]
    for key in keys[:2]:
        cache.set(key, FIRST, ANSWER, max_entries=2)
    cache.get(keys[0], FIRST)
    cache.set(keys[2], FIRST, ANSWER, max_entries=2)
    assert [cache.get(key, FIRST) is not None for key in keys] == [True, False, True]


def test_what_is_of_an_older_version_goes_and_the_rest_stays() -> None:
    cache = AnswerCache()
    keys = [KEY._replace(collection_ids=(number,)) for number in (1, 2, 3)]
    for key in keys:
        cache.set(key, FIRST, ANSWER, max_entries=5)
    cache.keep_only({1: FIRST, 2: SECOND})
    assert cache.collection_ids == {1}


def test_an_answer_is_kept_for_a_day(monkeypatch: pytest.MonkeyPatch) -> None:
    cache = AnswerCache()
    cache.set(KEY, FIRST, ANSWER, max_entries=5)
    now = monotonic()
    monkeypatch.setattr(MONOTONIC, lambda: now + MAX_AGE_S - 1)
    cache.keep_only({1: FIRST})
    assert len(cache) == 1
    monkeypatch.setattr(MONOTONIC, lambda: now + MAX_AGE_S + 60)
    cache.keep_only({1: FIRST})
    assert len(cache) == 0


def test_what_was_said_piece_by_piece_is_the_text() -> None:
    (citation,) = SHORT_ANSWER.citations
    text = f"{SHORT_ANSWER.text} {SHORT_ANSWER.text}"
    start = len(SHORT_ANSWER.text) + 1
    second = replace(citation, answer_start=start, answer_end=len(text))
    answer = replace(SHORT_ANSWER, text=text, citations=(citation, second))
    pieces = [piece for piece, _ in answer.pieces]
    assert pieces == [SHORT_ANSWER.text, f" {SHORT_ANSWER.text}"]
