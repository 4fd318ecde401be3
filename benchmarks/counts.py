# ruff: noqa: E402  (models can be imported once Django is set up)
"""Compare counts of mentions with an independent count of words, and with what a search finds.

    PKB_DATA_DIR=/tmp/counts .venv/bin/python benchmarks/counts.py FOLDER... [--phrases N]

The files below each FOLDER are ingested once, into one collection, with vectors that nobody uses.
Phrases of one to four words are drawn from their texts as they stand there, with punctuation and
line breaks; a third are written in another case. Made-up words are planted into further documents,
in places that count and others that do not. Each phrase is counted by POST /count, and by comparing
lists of words and signs; the planted ones also by GET /answer. Beside it are the documents that
have the phrase among the 50 best passages of POST /search by words.

It needs an installation (PKB_DATA_DIR). Prints JSON: how many counts are the same, and the others.
"""

import argparse
import json
import logging
import os
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import django

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "pkb.settings")
django.setup()

from django.conf import settings
from django.test import Client

from corpus.access.principal import SYSTEM, acting_as
from corpus.catalogue import create_collection
from corpus.errors import PkbError
from corpus.ingestion.ingest import ingest_submission
from corpus.ingestion.submission import Attributes, Submission, SubmittedFile
from corpus.models import Collection, DocumentContent

NAME = "eval-counts"
HASHED = {"BACKEND": "corpus.embedders.hashed_words.HashingEmbedder", "OPTIONS": {"dimension": 64}}
SEED = 34
MAX_WORDS = 4
PLANTED = "Planted document"
PLANTED_DOCUMENTS = 60
# Around a planted word, of which the other case is planted, too.
COUNTED = (
    "{}", "({})", "{}'s", "x-{}", "https://a.example/{}?b", "<{}>", "`{}`", "**{}**", "the {}.",
    "a@{}.example", "{}/b", "1.{}", "“{}”", "{},b", "{}\n",
)  # fmt: skip
NOT_COUNTED = ("{}s", "a{}", "{}_b", "7{}", "{}é")
_ALIKE = str.maketrans("\u2019\u2010\u2011", "'--")
_NO_SPACES = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3100-\u312f\u3400-\u4dbf\u4e00-\u9fff"
)
_TOKEN = re.compile(rf"\s+|[{_NO_SPACES}]|[^\W{_NO_SPACES}]+|[^\w\s]")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--phrases", type=int, default=300)
    options = parser.parse_args()
    logging.disable()
    settings.ALLOWED_HOSTS = ["testserver"]
    settings.PKB_EMBEDDERS = settings.PKB_EMBEDDERS | {"hashed": HASHED}
    chance = random.Random(SEED)  # noqa: S311
    planted = plant(chance)
    if Collection.objects.find(NAME) is None:
        fill(options.folders, planted)
    rows = DocumentContent.objects.filter(document__collection__name=NAME)
    texts = {str(key): text for key, text in rows.values_list("document_id", "text")}
    print(json.dumps(compare(texts, options.phrases, planted, chance), indent=1))


def plant(chance: random.Random) -> dict[str, list[str]]:
    """Return made-up words, each with the pieces that it stands in."""
    words = ["".join(chance.choices("bdfgklmnprtvz", k=9)) for _ in range(40)]
    return {
        word: [
            form.format(chance.choice([word, word.upper(), word.title()]))
            for form in chance.choices([*COUNTED, *NOT_COUNTED], k=chance.randint(1, 80))
        ]
        for word in words
    }


def fill(folders: list[Path], planted: dict[str, list[str]]) -> None:
    collection = create_collection(NAME, embedding_model="hashed")
    for path in sorted(path for folder in folders for path in folder.rglob("*") if path.is_file()):
        file = SubmittedFile(path.read_bytes(), path.name)
        with suppress(PkbError):  # it cannot be read, or its content is there already
            ingest_submission(Submission(file, Attributes()), collection=collection)
    pieces = [piece for pieces in planted.values() for piece in pieces]
    random.Random(SEED).shuffle(pieces)  # noqa: S311
    for number in range(PLANTED_DOCUMENTS):
        text = f"{PLANTED} {number} of many:\n" + " ".join(pieces[number::PLANTED_DOCUMENTS])
        ingest_submission(Submission(text, Attributes()), collection=collection)


def compare(
    texts: dict[str, str], count: int, planted: dict[str, list[str]], chance: random.Random
) -> dict[str, Any]:
    tokens = {key: split(text) for key, text in texts.items()}
    vocabularies = {key: frozenset(words) for key, words in tokens.items()}
    client = Client()
    tally: Counter[str] = Counter()
    differences = []
    natural = draw([text for text in texts.values() if not text.startswith(PLANTED)], chance)
    for phrase in [*planted, *(next(natural) for _ in range(count))]:
        wanted = split(phrase)
        expected = {
            key: found
            for key, words in tokens.items()
            if vocabularies[key].issuperset(wanted) and (found := occurrences(wanted, words))
        }
        body = {"query": phrase, "collection": NAME, "limit": 0}
        reply = client.post("/count", body, content_type="application/json").json()
        given = (reply["document_count"], reply["mention_count"])
        right = (len(expected), sum(expected.values()))
        tally["counted"] += 1
        tally["the same"] += given == right
        if given != right:
            differences.append({"phrase": phrase, "given": given, "expected": right})
        found = client.post(
            "/search",
            {"query": phrase, "collection": NAME, "top_k": 50, "mode": "lexical"},
            content_type="application/json",
        ).json()["results"]
        with_phrase = {each["document_id"] for each in found} & expected.keys()
        tally["all documents among the 50 best passages"] += with_phrase == expected.keys()
        if phrase in planted:
            forms = {form.format(case(phrase)) for form in COUNTED for case in CASES}
            tally["planted"] += 1
            tally["planted, mentions as planted"] += given[1] == sum(
                piece in forms for piece in planted[phrase]
            )
            question = {"q": f'How many documents mention "{phrase}"?', "collection": NAME}
            said = client.get("/answer", question).json()["answer"]
            numbers = re.match(r"([\d,]+) of .* mentions? .*?, ([\d,]+) times? in all", said)
            shown = numbers and tuple(int(each.replace(",", "")) for each in numbers.groups())
            tally["planted, answered the same"] += (shown or (0, 0)) == given
    return {"documents": len(texts), **tally, "differences": differences}


CASES = (str, str.upper, str.title)


def split(text: str) -> list[str]:
    """Return the words, signs and single spaces of a text, in lower case.

    Each character of a script without spaces is a word.
    """
    text = text.translate(_ALIKE)
    return [" " if each.isspace() else each.lower() for each in _TOKEN.findall(text)]


def occurrences(wanted: list[str], tokens: list[str]) -> int:
    """Count where the tokens of a phrase stand among those of a text, without overlaps."""
    found = at = 0
    with suppress(ValueError):  # there is no further one
        while True:
            at = tokens.index(wanted[0], at)
            is_here = tokens[at : at + len(wanted)] == wanted
            found += is_here
            at += len(wanted) if is_here else 1
    return found


def draw(texts: list[str], chance: random.Random) -> Iterator[str]:
    while True:
        text = chance.choice(texts)
        words = list(re.finditer(r"\w+", text))
        first = chance.randrange(len(words))
        last = min(first + chance.randrange(MAX_WORDS), len(words) - 1)
        phrase = text[words[first].start() : words[last].end()]
        phrase = chance.choice([phrase, phrase, chance.choice([phrase.upper(), phrase.lower()])])
        if len(phrase) <= 200:
            yield phrase


if __name__ == "__main__":
    with acting_as(SYSTEM):
        main()
