"""The texts of histories: of each word that is found again it is known which version it is of.

A place is what a document is about, a house with a name of its own; a version is a number that no
other text of the history has. What is stored of a text is the text itself, so that its hash, and
each span of it, are known here.
"""

import re
from collections.abc import Iterable
from functools import cache
from hashlib import sha256

_SYLLABLES = ("ba", "do", "fen", "gri", "hol", "ka", "lum", "mer", "nor", "pel", "ras", "tov")
_PLACE = re.compile(r"\b[Hh]ouse ([A-Z][a-z]+)\b")
_RECORD = re.compile(r"\brecord (\d+)\b")

# Parts of a text, each of them a chunk: what stays in all versions, and what is of one.
SITE, KEY, ROOMS = "site", "key", "rooms"
PARTS = frozenset({SITE, KEY, ROOMS})
# In tokens: one part is under it, two are over it.
CHUNK_SIZE = 40
CHUNKING = {"strategy": "structure", "size": CHUNK_SIZE, "overlap": 0, "overlap_sentences": 0}
QUESTIONS = (
    "Who keeps the key of the house {place}?",
    "How many rooms does the house {place} have?",
    "Who keeps the key of the house {place} and how many rooms does the house {place} have?",
    "Summarise the house {place}",
)
# A word of every part.
COMMON_WORD = "house"


def name_of(number: int) -> str:
    """Return a word for each number, another for another, that no other text has."""
    word = ""
    while number or len(word) < 4:
        number, digit = divmod(number, len(_SYLLABLES))
        word += _SYLLABLES[digit]
    return word.capitalize()


@cache
def write_version(place: str, version: int) -> str:
    """Return the text of one version; what stays is at another place in every other one."""
    parts = {
        SITE: (
            f"## Site\n\nThe house {place} stands on the east bank of the river, "
            "and this part of its book stays as it was first written down."
        ),
        KEY: (
            f"## Key\n\nBy record {version} the key of the house {place} is kept by "
            f"{name_of(version * 31 + 7)} of the old mill, who lives beside the bridge."
        ),
        ROOMS: (
            f"## Rooms\n\nBy record {version} the house {place} has {100 + version} rooms, "
            "and each of them is heated by a stove of green tiles."
        ),
    }
    order = (KEY, SITE, ROOMS) if version % 2 else (ROOMS, KEY, SITE)
    return "\n\n".join([f"# House {place}", *(parts[part] for part in order)])


@cache
def hash_of(place: str, version: int) -> str:
    return sha256(write_version(place, version).encode()).hexdigest()


def find_place(text: str) -> str:
    """Return the name of the place that a piece of a text is of; empty where none is named."""
    found = _PLACE.search(text)
    return found[1] if found else ""


def find_versions(text: str) -> set[int]:
    return {int(number) for number in _RECORD.findall(text)}


def find_parts(text: str) -> Iterable[str]:
    """Return the parts that a piece of a text has words of."""
    words = {SITE: "east bank", KEY: "is kept by", ROOMS: " rooms, "}
    return [part for part, said in words.items() if said in text]
