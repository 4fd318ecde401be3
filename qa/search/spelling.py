"""Correct slips of spelling in a question, by the words of its collections.

A word is corrected if no document of the collections contains it in any form, the embedding model
does not know it whole, and one slip makes it of a word that the documents contain. Row-level
security applies: words of collections that the asker may not read are never proposed.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from string import ascii_lowercase
from typing import NamedTuple

from corpus.embedders import get_embedder
from corpus.lexical import ENGLISH, Phrase, count_words
from corpus.models import Chunk, Collection
from qa.intent import find_phrases

# A word by itself: no part of a path, identifier or number; in capitals, it is an acronym.
_WORD = re.compile(
    r"""(?<!\S)["'(\[\u2018\u201c]*+([A-Za-z][a-z]{3,})(?=(?:['\u2019]s)?["')\].,:;?!\u2019\u201d]*+(?!\S))"""
)
_VOWELS = "aeiouy"
_NEAR_KEYS = dict(
    zip(
        ascii_lowercase,
        "qwsz vghn xdfv serfcx wsdr drtgvc ftyhbv gyujnb ujko huikmn jiolm kop njk bhjm iklp ol wa"
        " edft awedxz rfgy yhji cfgb qase zsdc tghu asx".split(),
        strict=True,
    )
)
# How likely a slip is: two letters are swapped or one is doubled, one is missed or another key hit,
# a vowel is another. Short words and names have many neighbors: only the first is corrected there.
_SWAPPED, _MISSED, _VOWEL = 3, 2, 1
SHORT_CHARS = 4
# A question with more unknown words is in another language, or of another subject.
MAX_UNKNOWN = 2
# Passages that are searched for the spelling of a word, which the index knows by its stem.
MAX_TEXTS = 100


class Correction(NamedTuple):
    """A word of a question, and the word that it is read as."""

    word: str
    read_as: str


def correct_spelling(
    text: str, collections: Sequence[Collection]
) -> tuple[str, tuple[Correction, ...]]:
    """Return a question with its slips corrected, and the corrections.

    Only English is corrected: for other languages, nothing is measured.
    """
    if any(collection.language != ENGLISH for collection in collections):
        return text, ()
    quoted = " ".join(find_phrases(text))
    matches = [match for match in _WORD.finditer(text) if match[1] not in quoted]
    words = _Words(collections)
    unknown = words.find_unknown({match[1].lower() for match in matches})
    if len(unknown) > MAX_UNKNOWN:
        return text, ()
    corrections = []
    for match in reversed(matches):
        word = match[1].lower()
        if word not in unknown:
            continue
        # A capital within a sentence marks a name.
        before = text[: match.start()].rstrip()[-1:]
        is_name = match[1] != word and before not in {"", ".", ":", "?", "!"}
        is_certain = is_name or len(word) <= SHORT_CHARS
        read_as = words.find_likeliest(word, min_likelihood=_SWAPPED if is_certain else _VOWEL)
        if read_as:
            shown = read_as if match[1] == word else read_as.capitalize()
            corrections.append(Correction(match[1], shown))
            text = text[: match.start(1)] + shown + text[match.end(1) :]
    return text, tuple(dict.fromkeys(reversed(corrections)))


class _Words:
    """The words of English collections, and those that the embedding model knows."""

    def __init__(self, collections: Sequence[Collection]) -> None:
        self._collection_ids = [each.pk for each in collections]
        self._embedder = get_embedder(collections[0].embedding_model)

    def find_unknown(self, words: Iterable[str]) -> list[str]:
        """Return the words that are in no passage, in any form, and not in the model either."""
        # The model is asked first: most questions then need no query.
        rare = [word for word in words if not self._is_token(word)]
        counts = self._count(rare) if rare else {}
        return [word for word, count in counts.items() if not count]

    def find_likeliest(self, slip: str, *, min_likelihood: int) -> str:
        """Return the likeliest word of the passages that one slip makes this one, or ""."""
        likelihoods: dict[str, int] = {}
        for word, likelihood in undo_slips(slip):
            likelihoods[word] = max(likelihood, likelihoods.get(word, 0))
        counts = self._count(likelihoods)
        matches = [
            word for word, count in counts.items() if count and likelihoods[word] >= min_likelihood
        ]
        matches.sort(key=lambda word: (-likelihoods[word], -counts[word], word))
        # The counts are of stems: what only ends like another form of a word is no word.
        is_spelled = (word for word in matches if self._is_token(word) or self._is_in_text(word))
        return next(is_spelled, "")

    def _count(self, words: Iterable[str]) -> dict[str, int]:
        return count_words(words, collection_ids=self._collection_ids, language=ENGLISH)

    def _is_token(self, word: str) -> bool:
        return len(self._embedder.token_spans(word)) == 1

    def _is_in_text(self, word: str) -> bool:
        """Return whether one of the first passages with a form of the word has just this one."""
        form = Phrase(word, language=ENGLISH)
        rows = Chunk.objects.filter(collection__in=self._collection_ids, lexemes=form).order_by()
        spelled = re.compile(rf"\b{word}\b", re.IGNORECASE)
        texts = rows.values_list("context", "text")[:MAX_TEXTS]
        return any(map(spelled.search, chain.from_iterable(texts)))


def undo_slips(word: str) -> Iterator[tuple[str, int]]:
    """Yield the words of which one slip makes this one, with the likelihood of the slip.

    A first letter is only swapped with the second. Another last letter makes another form of the
    word: "loader" is no slip of "loaded".
    """
    for at, letter in enumerate(word):
        before, after = word[:at], word[at + 1 :]
        yield from ((before + letter + missed + after, _MISSED) for missed in ascii_lowercase)
        if after:
            yield before + after[0] + letter + after[1:], _SWAPPED
        if at and letter == word[at - 1]:
            yield before + after, _SWAPPED
        elif at and letter in _VOWELS:
            yield before + after, _VOWEL
        if at and after:
            yield from ((before + near + after, _MISSED) for near in _NEAR_KEYS[letter])
            if letter in _VOWELS:
                yield from ((before + vowel + after, _VOWEL) for vowel in _VOWELS)
