"""Hashes by which what is left of a text is found, and not the text."""

from corpus.erasure.shingles import (
    HASH_BYTES,
    MAX_HASHES,
    WIDTH,
    ShingleHasher,
    read_words,
    split_hashes,
)
from tests.support.documents import LIGHTHOUSE

HASHER = ShingleHasher("a key")


def found(text: str, part: str) -> bool:
    hashes, width = HASHER.hash_text(text)
    return not split_hashes(hashes).isdisjoint(HASHER.shingles(part, width=width))


def test_eight_words_in_a_row_are_found_however_written_and_seven_not() -> None:
    assert found(
        LIGHTHOUSE, "It was: THE KEEPER climbs 212 steps\n\nto *wind* the clockwork, he said."
    )
    assert not found(LIGHTHOUSE, "the keeper climbs 212 steps to wind")


def test_a_short_text_is_found_whole() -> None:
    assert HASHER.hash_text("Call Orsolya Quill.")[1] == 3
    assert found("Call Orsolya Quill.", "Do not call Orsolya Quill today.")
    assert not found("Call Orsolya Quill.", "Call Orsolya.")


def test_a_text_without_words_has_no_hash() -> None:
    assert HASHER.hash_text("-- ... --") == (b"", 0)


def test_characters_of_scripts_without_spaces_are_words() -> None:
    assert read_words("灯台はBavokeに") == ["灯", "台", "は", "bavoke", "に"]
    assert found("灯台は千八百七十四年に建てられた。", "その灯台は千八百七十四年に")


def test_of_a_long_text_so_many_are_kept_that_a_sentence_is_found() -> None:
    words = [f"w{number}" for number in range(26_000)]
    hashes, width = HASHER.hash_text(" ".join(words))
    assert (len(hashes) // HASH_BYTES, width) == (MAX_HASHES, WIDTH)
    kept = split_hashes(hashes)
    for start in range(12_000, 12_050):
        sentence = " ".join(words[start : start + 20])
        assert not kept.isdisjoint(HASHER.shingles(sentence, width=width))


def test_another_key_gives_other_hashes() -> None:
    assert ShingleHasher("another").hash_text(LIGHTHOUSE) != HASHER.hash_text(LIGHTHOUSE)
    assert HASHER.hash_text(LIGHTHOUSE) == ShingleHasher("a key").hash_text(LIGHTHOUSE)
