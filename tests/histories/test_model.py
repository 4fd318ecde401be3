"""The checker of histories is right, and can fail: each falsified history is found out."""

from dataclasses import replace
from math import inf

import pytest

from tests.histories.history import Record, dump, load
from tests.histories.model import Act, Failure, Quote, Read, Sighting, Write, find_violations
from tests.histories.texts import (
    KEY,
    PARTS,
    SITE,
    find_parts,
    find_place,
    find_versions,
    hash_of,
    name_of,
    write_version,
)

HOUSE, OTHER = name_of(1), name_of(2)


def put(version: int, at: float, until: float, *tags: str, place: str = HOUSE) -> Write:
    return Write(Act.PUT, place, at, until, version, frozenset(tags))


def delete(at: float, until: float) -> Write:
    return Write(Act.DELETE, HOUSE, at, until)


def tag(at: float, until: float, *tags: str) -> Write:
    return Write(Act.TAG, HOUSE, at, until, tags=frozenset(tags))


def sight(*versions: int, parts: frozenset[str] = PARTS, place: str = HOUSE) -> Sighting:
    return Sighting(place, frozenset(versions), parts)


def search(at: float, until: float, *seen: Sighting, tag: str = "") -> Read:
    return Read("search", at, until, seen, frozenset({HOUSE}), tag)


def answer(at: float, until: float, *seen: Sighting) -> Read:
    return Read("answer", at, until, seen)


def kinds(writes: list[Write], *reads: Read) -> list[str]:
    return [found.kind for found in find_violations(writes, reads)]


STORED = [put(1, 1, 2), put(2, 5, 6)]
TAGGED = [put(1, 1, 2, "east"), tag(3, 4, "west")]


@pytest.mark.parametrize(
    ("writes", "read", "found"),
    [
        pytest.param(STORED, search(7, 8, sight(2)), [], id="what-was-put"),
        pytest.param(STORED, search(7, 8), ["unseen"], id="an-own-write-unseen"),
        pytest.param(STORED, search(7, 8, sight(1)), ["stale"], id="a-replaced-version"),
        pytest.param(STORED, search(5, 8, sight(1)), [], id="either-while-it-is-replaced"),
        pytest.param(STORED, search(5, 8), ["unseen"], id="a-gap-while-it-is-replaced"),
        pytest.param(STORED, search(0, 1.5), [], id="not-yet"),
        pytest.param(STORED, search(3, 4, sight(2)), ["foreign"], id="before-it-was-sent"),
        pytest.param(STORED, search(3, 8, sight(1), sight(2)), ["mixed"], id="two-versions"),
        pytest.param(STORED, answer(3, 8, sight(1), sight(2)), ["mixed"], id="two-in-an-answer"),
        pytest.param(STORED, answer(3, 8, sight(1, 2)), ["mixed"], id="a-chunk-of-two-versions"),
        pytest.param(
            STORED, search(3, 4, sight(1, parts=frozenset({KEY}))), ["torn"], id="half-of-it"
        ),
        pytest.param([*STORED, delete(7, 8)], search(9, 10), [], id="deleted"),
        pytest.param(
            [*STORED, delete(7, 8)], answer(9, 10, sight(2)), ["stale"], id="a-stale-citation"
        ),
        pytest.param(
            [*STORED, delete(7, 8)],
            search(9, 10, sight(parts=PARTS)),
            ["stale"],
            id="a-deleted-part-that-all-versions-have",
        ),
        pytest.param([*STORED, delete(7, 9)], answer(8, 10, sight(2)), [], id="while-deleted"),
        pytest.param([*STORED, delete(7, inf)], search(20, 21), [], id="perhaps-deleted"),
        pytest.param(
            [*STORED, delete(7, inf)], search(20, 21, sight(2)), [], id="perhaps-not-deleted"
        ),
        pytest.param([], answer(1, 2, sight(9)), ["foreign"], id="what-nobody-wrote"),
        pytest.param(TAGGED, search(5, 6, sight(1), tag="west"), [], id="carried"),
        pytest.param(TAGGED, search(5, 6, sight(1), tag="east"), ["tag"], id="taken-off"),
        pytest.param(TAGGED, search(5, 6, tag="west"), ["unseen"], id="carried-and-unseen"),
        pytest.param(TAGGED, search(5, 6, tag="east"), [], id="not-carried"),
        pytest.param(TAGGED, search(3, 6, sight(1), tag="east"), [], id="while-it-changes"),
        pytest.param(
            [put(1, 1, 2, "east"), put(2, 3, 5)],
            search(4, 6, sight(2), tag="east"),
            ["tag"],
            id="the-text-of-one-version-by-the-tag-of-another",
        ),
        pytest.param(
            [put(1, 1, 2), put(2, 4, 6, "east"), tag(3, 5, "west")],
            search(7, 8, sight(2), tag="west"),
            [],
            id="tagged-while-it-was-replaced",
        ),
    ],
)
def test_a_read_is_judged_by_what_was_there(
    writes: list[Write], read: Read, found: list[str]
) -> None:
    assert kinds(writes, read) == found


def test_what_was_seen_is_not_unseen_afterwards() -> None:
    """Nobody knows when a write has effect that takes long; who has seen it does."""
    writes = [put(1, 1, 2), put(2, 3, 20)]
    seen = search(4, 5, sight(2))
    assert kinds(writes, search(6, 7, sight(1))) == []
    assert kinds(writes, seen, search(6, 7, sight(1))) == ["stale"]
    later = put(3, 6, 8)
    assert kinds([*writes, later], seen, search(9, 10, sight(2))) == ["stale"]


def test_kept_answer_may_quote_what_is_replaced_and_not_what_is_deleted() -> None:
    kept = replace(answer(9, 10, sight(1)), is_kept=True)
    assert kinds(STORED, kept) == []
    assert kinds([*STORED, delete(7, 8)], kept) == ["kept"]
    assert kinds([*STORED, delete(7, 8), put(3, 8.5, 8.7)], kept) == ["kept"]
    assert kinds([*STORED, delete(7, 9.5)], kept) == []


def test_a_quote_is_compared_with_the_text_of_its_version() -> None:
    text = write_version(HOUSE, 1)
    start = text.index("The house")
    quote = Quote(text[start : start + 30], hash_of(HOUSE, 1), start, start + 30)
    whole = replace(sight(1), quote=quote)
    assert kinds(STORED, answer(3, 4, whole)) == []
    moved = replace(whole, quote=replace(quote, start=start + 1, end=start + 31))
    assert kinds(STORED, answer(3, 4, moved)) == ["misquoted"]
    unknown = replace(whole, quote=replace(quote, content_sha256="0" * 64))
    assert kinds(STORED, answer(3, 4, unknown)) == ["misquoted"]


def test_places_are_judged_each_by_itself() -> None:
    writes = [*STORED, put(3, 1, 2, place=OTHER)]
    read = Read("search", 7, 8, (sight(2), sight(3, place=OTHER)), frozenset({HOUSE, OTHER}))
    assert kinds(writes, read) == []
    assert kinds(writes, replace(read, seen=(sight(2),))) == ["unseen"]


def test_a_history_is_read_again_as_it_was_kept() -> None:
    quote = Quote("a stove", hash_of(HOUSE, 1), 3, 10)
    seen = search(9, 10, replace(sight(1), quote=quote))
    records: list[Record] = [*STORED, delete(7, inf), seen, Failure("search", 1, 500, "no", 3)]
    again = load(map(dump, records))
    assert [*again.writes, *again.reads, *again.failures] == records


@pytest.mark.parametrize("version", [7, 8])
def test_a_text_tells_of_what_place_and_version_each_part_is(version: int) -> None:
    text = write_version(HOUSE, version)
    assert find_versions(text) == {version}
    assert set(find_parts(text)) == PARTS
    sections = text.split("\n\n## ")[1:]
    assert [find_place(section) for section in sections] == [HOUSE] * 3
    assert SITE in {
        part for each in sections for part in find_parts(each) if not find_versions(each)
    }
    assert len({name_of(number) for number in range(500)}) == 500
