# ruff: noqa: E402  (models can be imported once Django is set up)
"""Compare counts with independent ones: of mentions, and of the amounts that documents state.

    PKB_DATA_DIR=/tmp/counts .venv/bin/python benchmarks/counts.py FOLDER... [--phrases N]
    PKB_DATA_DIR=/tmp/counts .venv/bin/python benchmarks/counts.py --amounts N

The files below each FOLDER are ingested once, into one collection, with vectors that nobody uses.
Phrases of one to four words are drawn from their texts as they stand there, with punctuation and
line breaks; a third are written in another case. Made-up words are planted into further documents,
in places that count and others that do not. Each phrase is counted by POST /count, and by comparing
lists of words and signs; the planted ones also by GET /answer. Beside it are the documents that
have the phrase among the 50 best passages of POST /search by words.

With ``--amounts``, a plan of invoices, contracts and receipts is drawn and written as texts,
Markdown, HTML, CSV and PDF: named by title, tag, file or collection, with a total in English or
German form, and one in three without a clear one. N questions are answered by POST /count and
GET /answer; right is what the plan says: the same documents, with their dates, none unclear.

It needs an installation (PKB_DATA_DIR). Prints JSON: how many counts are the same, and the others.
"""

import argparse
import json
import logging
import operator
import os
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

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
from corpus.models import Collection, Document, DocumentContent

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
    parser.add_argument("folders", type=Path, nargs="*")
    parser.add_argument("--phrases", type=int, default=300)
    parser.add_argument("--amounts", type=int, default=0)
    options = parser.parse_args()
    logging.disable()
    settings.ALLOWED_HOSTS = ["testserver"]
    settings.PKB_EMBEDDERS = settings.PKB_EMBEDDERS | {"hashed": HASHED}
    chance = random.Random(SEED)  # noqa: S311
    if options.amounts:
        print(json.dumps(compare_amounts(options.amounts, chance), indent=1))
        return
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


BILLS = "eval-amounts"
BILL_COUNT = 240
KINDS = ("invoice", "contract", "receipt")
LABELS = {
    "invoice": ("Total", "Amount due", "Invoice total", "Grand total", "Rechnungsbetrag"),
    "contract": ("Contract value", "Total price", "The contract price is", "Vertragswert"),
    "receipt": ("Total", "Total amount", "Gesamtbetrag"),
}
SIGNS = {"EUR": ("{} EUR", "EUR {}", "{} \u20ac"), "USD": ("{} USD", "${}", "US${}")}
DATES = ("%Y-%m-%d", "%d %B %Y", "%B %d, %Y", "%d.%m.%Y")
SAID = {
    "over": operator.gt, "more than": operator.gt, "at least": operator.ge, "under": operator.lt,
    "at most": operator.le, "exactly": operator.eq,
}  # fmt: skip
# Amounts that are not the document's, or are but cannot be told.
UNCLEAR = (
    "The work costs {} and the material {}.", "We charge {} per hour.", "The price is about {}.",
    "Subtotal: {}\n\nShipping: {}", "Total: between {} and {}", "There is no price yet.",
    "Total: 1,250\n\nPaid in cash.", "Invoice: 1; Total: {}\n\nInvoice: 2; Total: {}", "Total: -{}",
    "Total\n\n{}\n\n{}",
)  # fmt: skip


class Bill(NamedTuple):
    """A planted document, named by its kind; its value is None if none is clear."""

    title: str
    kind: str
    value: Decimal | None
    currency: str
    day: date


def plant_bill(number: int, chance: random.Random) -> Bill:
    """Store a document of the plan, unless it is there, and return what it states."""
    kind, currency = chance.choice(KINDS), chance.choice([*SIGNS])
    value = Decimal(chance.randint(100, 5_000_000)) / 100
    value = chance.choice([value, value.quantize(Decimal(1)).quantize(Decimal("0.01"))])
    day = date(2023, 1, 1) + timedelta(days=chance.randrange(700))
    label = chance.choice(LABELS[kind])
    is_german = label.endswith(("betrag", "wert"))
    sign = chance.choice(SIGNS[currency])

    def write(amount: Decimal) -> str:
        shown = f"{amount:,.2f}"
        if is_german:
            shown = shown.translate(str.maketrans(",.", ".,"))
        elif chance.random() < 1 / 2:
            shown = shown.removesuffix(".00")
        return sign.format(shown)

    parts = [write(value * share / 100) for share in (30, 70)]
    dated = day.strftime("%Y-%m-%d" if is_german else chance.choice(DATES))
    later = (day + timedelta(days=30)).isoformat()
    is_clear = chance.random() < 2 / 3
    head = f"{'Datum' if is_german else 'Date'}: {dated}\n\nDue date: {later}\n\n"
    layout = chance.choice(("txt", "md", "html", "csv", "pdf")) if is_clear else "txt"
    text = head + chance.choice(UNCLEAR).format(*parts)
    if is_clear:
        prices = {"Pens and paper": parts[0], "Work": parts[1], label: write(value)}
        text = write_bill(layout, head, prices)
    if is_clear and layout == "csv":
        text = f'Number;Date;{label};Due date\n{number};{dated};"{write(value)}";{later}\n'
    named = chance.choice(("title", "tag", "collection", "file"))
    name = f"{kind}s" if named == "collection" else BILLS
    title = f"{kind.title()} {number}" if named == "title" else f"Paper {number}"
    if Collection.objects.find(name) is None:
        create_collection(name, embedding_model="hashed")
    collection = Collection.objects.get_named(name)
    content = write_pdf(text) if layout == "pdf" else f"{text}\n".encode()
    file = SubmittedFile(
        content, f"{kind}_{number}.{layout}" if named == "file" else f"{number}.{layout}"
    )
    tags = (f"{kind}s",) if named == "tag" else ()
    if not Document.objects.filter(title=title).exists():
        submission = Submission(file, Attributes(title=title, tags=tags))
        ingest_submission(submission, collection=collection)
    return Bill(title, kind, value if is_clear else None, currency, day)


def write_bill(layout: str, head: str, prices: dict[str, str]) -> str:
    if layout == "md":
        rows = [f"| {name} | {price} |" for name, price in prices.items()]
        return head + "\n".join(("| Item | Price |", "| --- | --- |", *rows))
    if layout == "html":
        cells = [f"<tr><td>{name}</td><td>{price}</td></tr>" for name, price in prices.items()]
        paragraphs = "".join(f"<p>{each}</p>" for each in head.strip().split("\n\n"))
        table = "<tr><th>Item</th><th>Price</th></tr>" + "".join(cells)
        return f"<html><body>{paragraphs}<table>{table}</table></body></html>"
    return head + "\n\n".join(f"{name}: {price}" for name, price in prices.items())


def write_pdf(text: str) -> bytes:
    """Return a page with the lines of a text in Helvetica."""
    shown = text.encode("cp1252").replace(b"\\", b"").replace(b"(", b"").replace(b")", b"")
    lines = b"".join(b"(%s) Tj 0 -16 Td\n" % line for line in shown.split(b"\n"))
    stream = b"BT /F1 11 Tf 60 760 Td\n" + lines + b"ET"
    font = b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>"
    objects = (
        b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents 4 0 R"
        b"/Resources<</Font<</F1 5 0 R>>>>>>",
        b"<</Length %d>>stream\n%s\nendstream" % (len(stream), stream), font,
    )  # fmt: skip
    written, places = b"%PDF-1.4\n", []
    for number, each in enumerate(objects, start=1):
        places.append(len(written))
        written += b"%d 0 obj%s\nendobj\n" % (number, each)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    trailer = b"trailer<</Size 6/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % len(written)
    return written + b"xref\n0 6\n0000000000 65535 f \n" + table + trailer


def compare_amounts(count: int, chance: random.Random) -> dict[str, Any]:
    bills = [plant_bill(number, chance) for number in range(BILL_COUNT)]
    client, tally, differences = Client(), Counter[str](), []
    while tally["asked"] < count:
        kind, words, currency = (
            chance.choice(KINDS),
            chance.choice([*SAID]),
            chance.choice([*SIGNS]),
        )
        bound = chance.choice([each.value for each in bills if each.value and each.kind == kind])
        asked = f"{words} {f'{bound:,.2f}'.removesuffix('.00')} {currency}"
        of_kind = [each for each in bills if each.kind == kind]
        clear = [each for each in of_kind if each.value is not None and each.currency == currency]
        right = {
            each.title: each.day.isoformat()
            for each in clear
            if each.value is not None and SAID[words](each.value, bound)
        }
        body = {"query": f"{kind}s", "amount": asked, "collection": "*", "limit": 200}
        reply = client.post("/count", body, content_type="application/json").json()
        given = {each["document_name"]: each["document_date"] for each in reply["results"]}
        body |= {"unit": "unclear"}
        unclear = client.post("/count", body, content_type="application/json").json()["results"]
        missed = {each["document_name"] for each in unclear} & {each.title for each in clear}
        tally["asked"] += 1
        tally["planted documents"] += len(right)
        tally["listed documents"] += len(given)
        tally["listed documents that are planted, with their dates"] += len(
            given.items() & right.items()
        )
        tally["clear documents said to be unclear"] += len(missed)
        is_same = given == right and reply["searched_count"] == len(of_kind) and not missed
        tally["the same"] += is_same
        if not is_same:
            wrong = sorted(given.items() ^ right.items())
            differences.append({"asked": f"{kind}s {asked}", "wrong": wrong, "missed": [*missed]})
        question = {"q": f"How many {kind}s are {asked}?", "collection": "*"}
        said = re.match(r"([\d,]+) of ", client.get("/answer", question).json()["answer"])
        tally["answered" if said else "refused"] += 1
        tally["answered with the same number"] += bool(said) and int(said[1]) == len(right)  # type: ignore[index]
        tally["refused, of which none is planted"] += not (said or right)
    return {"documents": len(bills), **tally, "differences": differences}


if __name__ == "__main__":
    with acting_as(SYSTEM):
        main()
