"""Name what words say, so that two sentences can be compared that say it in different words."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from qa.proof.support.polarity import is_guarded
from qa.proof.support.words import FUNCTION_WORDS, Word, stem

# One meaning a line: each stands for the others in any sentence. Two words that only may (find and
# discover, name and appoint) are no such line, nor are words of more and less, of always and often.
_SYNONYMS = """
begin, began, begun, start, commence
get, got, gotten, receive, obtain
give, gave, given, provide, grant, offer
keep, kept, hold, held, contain, store, retain
build, built, construct, erect
founded, founding, establish, set up, setting up, foundation, establishment
need, require, call for
use, employ, utilise, utilize
buy, bought, purchase
ask, asked, request
say, said, state, tell, told
think, thought, believe
return, come back, came back, go back, went back
withdraw from, withdrew from, withdrawn from, pull out of, pulled out of
face, run into, ran into, running into, encounter, confront
raise, put up
reduce, decrease, diminish
rule, reign
break out, broke out, erupt
choose, chose, chosen, select
send, sent, dispatch
show, shown, display, demonstrate
help, assist, aid
happen, occur, take place, took place, taken place
take over, took over, taken over, inherit
scatter, disperse
murder, assassinate
damage, harm
repair, fix
delete, erase
fast, quick, rapid
frequent, often
about, approximately, approx, roughly, around, ca, circa
at least, no less than, no fewer than
at most, no more than, up to
while, whereas
but, although, though, however
when, whenever
should, ought to, recommend, advise
must, have to, has to, had to
can, able to
only, solely, exclusively, merely
such as, for example, for instance, e.g.
moreover, furthermore, in addition, also
"""
_LONGEST = 3
# What makes another part of speech of a word: "import" and "importation" say the same. Not -er
# or -ee, which name who does it and whom it is done to.
_SUFFIXES = ("ation", "ition", "ion", "ment", "ly")
_SHORTEST_ROOT = 4


class Unit(NamedTuple):
    """Words of a sentence that say one thing.

    Attributes:
        key: The same for all words that say it.
        places: Of its words in the sentence.
        first: The first of them.
    """

    key: str
    places: range
    first: Word

    @property
    def is_content(self) -> bool:
        return self.key.startswith("=") or self.first.is_content


def _read_lines(lines: str) -> Mapping[tuple[str, ...], str]:
    meanings: dict[tuple[str, ...], str] = {}
    for line in lines.strip().splitlines():
        spellings = [tuple(map(stem, each.split())) for each in line.split(", ")]
        for spelling in spellings:
            meanings.setdefault(spelling, f"={line.partition(',')[0]}")
    return meanings


_MEANINGS = _read_lines(_SYNONYMS)


def meaning_of(word: str) -> str:
    """Return the key of the units that say what this word of the list says."""
    return _MEANINGS[stem(word),]


def read_units(words: Sequence[Word]) -> list[Unit]:
    """Return what the words say, in order; a phrase that says what one word says is one unit."""
    return list(_walk(words))


def _walk(words: Sequence[Word]) -> Iterator[Unit]:
    at = 0
    while at < len(words):
        count = _LONGEST
        while count and not (key := _find_meaning(words[at : at + count], count)):
            count -= 1
        count = max(count, 1)
        yield Unit(key or _root(words[at]), range(at, at + count), words[at])
        at += count


def _find_meaning(words: Sequence[Word], count: int) -> str:
    is_phrase = len(words) == count and not any(word.opens_clause for word in words[1:])
    return _MEANINGS.get(tuple(word.stem for word in words), "") if is_phrase else ""


def _root(word: Word) -> str:
    """Take off what makes a noun of a verb, or an adverb of an adjective."""
    if word.is_name or is_guarded(word) or word.text in FUNCTION_WORDS:
        return word.stem
    for suffix in _SUFFIXES:
        root = word.stem.removesuffix(suffix)
        if root != word.stem and len(root) >= _SHORTEST_ROOT:
            return root
    return word.stem
