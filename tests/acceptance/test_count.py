"""POST /count, and questions that are answered by counting."""

import csv
import random
import re
from io import StringIO
from itertools import chain
from typing import Any
from unittest.mock import patch
from uuid import uuid4

import pytest
from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile

from corpus.models import Collection, Document, DocumentContent
from tests.support.client import Api
from tests.support.documents import BAKERY
from tests.support.users import Tenant, call

# Only what nobody mentions is searched for.
pytestmark = pytest.mark.usefixtures("cheap_model")
SAMPLES = settings.BASE_DIR / "data" / "documents"
DRIFT = (
    "# Drift\n\nA drift check compares two days. Drift\nchecks differ: a drift-check is none. "
    "The DRIFT CHECK runs at example.org/drift and as <drift>.\n"
)
FURTHER = "The drift\ncheck of the bakery in Lindow is not a drifting check of anything at all."


def count(api: Api, query: str, **body: Any) -> Any:
    reply = api.post("/count", {"query": query, **body})
    assert reply.status_code == 200, reply.content
    return reply.json()


@pytest.fixture
def drift(api: Api) -> dict[str, str]:
    texts = {"Drift": DRIFT, "Further": FURTHER, "Lindow": BAKERY}
    return {
        title: api.ingest(text, title=title, tags=(title.lower(),)).document_id
        for title, text in texts.items()
    }


def test_whole_words_in_any_case_are_counted(api: Api, drift: dict[str, str]) -> None:
    found = count(api, "drift check", unit="mention")
    assert (found["document_count"], found["mention_count"]) == (2, 3)
    assert (found["searched_count"], found["unread_count"]) == (3, 0)
    assert [each["quote"] for each in found["results"]] == [
        "drift check", "DRIFT CHECK", "drift\ncheck",
    ]  # fmt: skip
    for each in found["results"]:
        document = Document.objects.with_text().get(pk=each["document_id"])
        assert document.content_sha256 == each["content_sha256"]
        assert document.text[each["start_char"] : each["end_char"]] == each["quote"]
        around = each["context"]
        assert document.text[around["start_char"] : around["end_char"]] == around["text"]
        assert not document.text[: around["start_char"]][-1:].isalnum()


def test_question_is_answered_by_the_count(api: Api, drift: dict[str, str]) -> None:
    answer = api.answer("How many documents mention a drift check?")
    assert answer["answer"].startswith("2 of 3 documents mention “drift check”, 3 times in all.")
    assert (answer["kind"], answer["confidence"], answer["answerer"]) == ("answer", 1.0, "count")
    assert {each["document_id"] for each in answer["citations"]} == {
        drift["Drift"],
        drift["Further"],
    }
    for each in answer["citations"]:
        assert answer["answer"][each["answer_start"] : each["answer_end"]] == each["quote"]


def test_what_nobody_mentions_is_said(api: Api, drift: dict[str, str]) -> None:
    answer = api.answer("How many documents mention a semaphore?")
    assert (answer["kind"], answer["answer"]) == ("abstained", "")
    assert answer["notice"].startswith("No document mentions exactly these words.")


def test_groups_say_where_mentions_are(api: Api, drift: dict[str, str]) -> None:
    folder = {"source": "web", "source_uri": "https://bavoke.example/notes/a.md"}
    mail = {"metadata": {"from": "Ida <ida@a.example>", "created": "2024-05-07"}}
    api.ingest(f"{FURTHER} Drift check.", title="Mail", tags=("drift",), **folder, **mail)
    groups = {
        name: [(each["name"], each["document_count"], each["mention_count"]) for each in found]
        for name in ("tag", "month", "sender", "source", "folder", "collection")
        if (found := count(api, "drift check", group_by=name)["groups"])
    }
    assert groups == {
        "tag": [("drift", 2, 4), ("further", 1, 1)],
        "month": [("", 2, 3), ("2024-05", 1, 2)],
        "sender": [("", 2, 3), ("Ida <ida@a.example>", 1, 2)],
        "source": [("", 2, 3), ("web", 1, 2)],
        "folder": [("", 2, 3), ("https://bavoke.example/notes", 1, 2)],
        "collection": [("default", 3, 5)],
    }
    answer = api.answer("How many documents mention a drift check by month?")["answer"]
    assert "- 2024-05: 1 document, 2 times\n" in answer


def test_list_is_complete_in_pages_and_as_csv(api: Api) -> None:
    for number in range(12):
        text = f"Note {number} of the lighthouse: the keeper, {'a keeper, ' * number}and =keepers."
        api.ingest(text, title=f"=note {number:02}", metadata={"created": f"20{number + 10}"})
    whole = count(api, "KEEPER", unit="mention", sort="name", limit=200)
    assert whole["total_results"] == whole["mention_count"] == len(whole["results"]) == 78
    parts = [
        count(api, "KEEPER", unit="mention", sort="name", offset=offset, limit=50)["results"]
        for offset in (0, 50, 100)
    ]
    assert list(chain(*parts)) == whole["results"]
    newest = count(api, "keeper", sort="date", limit=2)["results"]
    assert [each["document_date"] for each in newest] == ["2021", "2020"]
    most = count(api, "keeper", limit=1)["results"]
    assert (most[0]["document_name"], most[0]["mention_count"]) == ("=note 11", 12)
    body = {"query": "keeper", "unit": "mention", "sort": "name", "format": "csv"}
    rows = list(csv.DictReader(StringIO(api.post("/count", body).content.decode())))
    assert [row["start_char"] for row in rows] == [
        str(each["start_char"]) for each in whole["results"]
    ]
    assert {row["document_name"][:7] for row in rows} == {"'=note "}
    groups = api.post("/count", {**body, "group_by": "month"}).content.decode().splitlines()
    assert groups[0] == "group,document_count,mention_count"
    assert len(groups) == 13
    assert api.page("/ui/count", q="keeper", csv="on").count("\n") == 13


def test_scope_and_what_is_unread_are_minded(api: Api, drift: dict[str, str]) -> None:
    api.post("/create", {"index_name": "other"})
    api.post("/ingest", {"text": FURTHER, "collection": "other"})
    Document.objects.create(collection=Collection.objects.get_named("other"), status="failed")
    assert count(api, "drift check")["document_count"] == 2
    everywhere = count(api, "drift check", collection="*")
    assert (everywhere["document_count"], everywhere["searched_count"]) == (3, 4)
    assert everywhere["unread_count"] == 1
    assert count(api, "drift check", tags=["further"])["document_count"] == 1
    title = {"type": "eq", "key": "title", "value": "Drift"}
    assert count(api, "drift check", filters=title)["mention_count"] == 2
    answer = api.answer("How often is drift check mentioned?", collection="other")["answer"]
    assert "Not counted: 1 document without a text." in answer


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"query": ""}, "query"), ({"query": "..."}, "query"), ({"query": "a" * 201}, "query"),
        ({"query": "a", "collection": "**"}, "collection"), ({"query": "a", "unit": "x"}, "unit"),
        ({"query": "a", "group_by": "x"}, "group_by"), ({"query": "a", "limit": 201}, "limit"),
        ({"query": "a", "amount": "over 5 pages"}, "amount"),
    ],
)  # fmt: skip
def test_bad_input_names_the_field(api: Api, body: dict[str, Any], field: str) -> None:
    reply = api.post("/count", body)
    assert reply.status_code == 400
    assert [each["field"] for each in reply.json()["errors"]] == [field]


def test_unknown_collection_is_not_found(api: Api) -> None:
    assert api.post("/count", {"query": "a", "collection": "none"}).status_code == 404


def test_too_large_file_is_refused(api: Api, drift: dict[str, str]) -> None:
    with patch("corpus.api.count_views.MAX_ROWS", 1):
        reply = api.post("/count", {"query": "drift check", "format": "csv"})
    assert (reply.status_code, reply.json()["errors"][0]["field"]) == (400, "format")


TEXTS = [
    "E-mail, e\u2011mail and e mail; don\u2019t, DON'T. ÄRGER, ärger, Ärgernis; snake_case, snake.",
    "C++ and C++11, c++; a.b/c a.b.c <a.b> 東京都は東京です。AWSの第2章 ΟΔΟΣ οδος; İst istanbul",
    "rye\tbread, rye\n\nbread: Rye bread's rye  bread-rye bread",
]
PHRASES = {
    "e-mail": 2, "don't": 2, "ärger": 2, "snake": 1, "snake_case": 1, "c++": 2, "a.b": 3,
    "東京": 2, "aws": 1, "2": 1, "οδος": 2, "istanbul": 1, "rye bread": 5, "bread-rye": 1,
    "read": 0,
}  # fmt: skip


@pytest.mark.parametrize("phrase", PHRASES)
def test_one_rule_says_what_a_mention_is(api: Api, phrase: str) -> None:
    for text in TEXTS:
        api.ingest(text)
    assert count(api, phrase)["mention_count"] == PHRASES[phrase]


def test_counts_are_those_of_a_plain_expression(api: Api) -> None:
    """Phrases as they stand in the samples, with punctuation, case and line breaks."""
    for path in sorted(SAMPLES.glob("*.md")):
        api.ingest(path.read_text())
    texts = list(DocumentContent.objects.values_list("text", flat=True))
    chance = random.Random(34)  # noqa: S311
    for _ in range(120):
        words = list(re.finditer(r"\w+", text := chance.choice(texts)))
        first = chance.randrange(len(words) - 3)
        phrase = text[words[first].start() : words[first + chance.randrange(3)].end()]
        plain = r"\s+".join(map(re.escape, phrase.split()))
        plain = rf"(?<!\w){plain}(?!\w)"
        expected = [len(re.findall(plain, text, re.IGNORECASE)) for text in texts]
        found = count(api, chance.choice([phrase, phrase.upper(), phrase.lower()]))
        assert (phrase, found["mention_count"]) == (phrase, sum(expected))
        assert found["document_count"] == sum(map(bool, expected))


@pytest.mark.usefixtures("login_required")
def test_another_users_texts_are_not_counted(ida: Tenant, otto: Tenant) -> None:
    mine = call(ida.key, "post", "/count", query="marigold key", collection="*").json()
    assert (mine["document_count"], mine["searched_count"]) == (1, 1)
    theirs = call(otto.key, "post", "/count", query="marigold key", collection="*").json()
    assert (theirs["document_count"], theirs["searched_count"], theirs["results"]) == (0, 0, [])
    assert call(otto.key, "post", "/count", query="a", collection="secret@ida").status_code == 404


def test_page_shows_counts_groups_and_places(api: Api, drift: dict[str, str]) -> None:
    shown = api.page("/ui/count", q="drift check", group_by="tag", unit="mention")
    assert "2 of 3 documents" in shown
    assert shown.count("<mark>") == 3
    assert f"/ui/documents/{drift['Further']}?start=4&amp;end=15#passage" in shown
    assert "No such" not in api.page("/ui/count")
    assert "Other forms of the words are not counted." in api.page("/ui/count", q="semaphore")


def test_a_count_says_what_is_counted_and_links_its_scope(api: Api) -> None:
    api.post("/create", {"index_name": "sheets"})
    rows = "".join(f"A-{n},Baker & Sons of Lindow,Pump P20 of the quay,{n}\n" for n in range(3))
    sheet = SimpleUploadedFile("a.csv", f"order,customer,product,price EUR\n{rows}".encode())
    form = {"file": sheet, "collection": "sheets", "tags": "pumps"}
    api.post("/ingest", form, format="multipart")
    asked = {"collection": "sheets", "tag": "pumps"}
    answer = api.answer("How often is EUR mentioned?", **asked)
    assert "“EUR”, 3 times in all." in answer["answer"]
    assert "each row of a sheet has the names of its columns" in answer["answer"]
    shown = api.page(f"/ui/answers/{answer['id']}")
    assert 'href="/ui/count?q=EUR&amp;collection=sheets&amp;tag=pumps"' in shown
    assert "Exact count." in shown
    assert "Confidence" not in shown
    assert "Each row of a sheet has" in api.page("/ui/count", q="EUR", **asked)


def test_turns_of_a_chat_are_counted_in_all_documents(api: Api, drift: dict[str, str]) -> None:
    session = str(uuid4())
    api.ask("When does the bakery in Lindow open?", session_id=session)
    answer = api.ask("How many documents mention drift?", session_id=session)
    assert answer["answer"].startswith("2 of 3 documents mention “drift”")


def test_which_documents_lists_what_is_near_instead(api: Api, drift: dict[str, str]) -> None:
    answer = api.answer("Which documents mention checks of drifts?")
    assert answer["kind"] in {"unsure", "abstained"}
    assert answer["closest"]


THANKS = "Thank you for your order; we look forward to the next."
# Titles, texts and what they state: EUR, another currency, or nothing clear.
BILLS = {
    "Invoice 1": "Date: 2024-03-17\n\nPens: 20 EUR\n\n**Total: 1,190.00 EUR, due on 2024-04-17.**",
    "Invoice 2": "Invoice of 2 May 2024.\n\nTotal incl. 19% VAT: EUR 500.00",
    "Invoice 3": "| Item | Amount (EUR) |\n| --- | --- |\n| Pens | 20.00 |\n| Total | 500.01 |",
    "Invoice 4": "Pens 400.00 EUR\n\nPaper 200.00 EUR",
    "Invoice 5": "Amount due: $900",
    "Note": "Total: 9,000.00 EUR, says the invoice.",
}


@pytest.fixture
def bills(api: Api) -> dict[str, str]:
    return {
        title: api.ingest(f"{text}\n\n{THANKS}", title=title).document_id
        for title, text in BILLS.items()
    }


def test_documents_are_counted_by_the_amount_they_state(api: Api, bills: dict[str, str]) -> None:
    found = count(api, "invoices", amount="over 500 EUR")
    assert [found[f"{kind}_count"] for kind in ("document", "searched", "unclear")] == [2, 5, 2]
    assert found["currency"] == "EUR"
    shown = {each["document_name"]: each for each in found["results"]}
    assert list(shown) == ["Invoice 1", "Invoice 3"]
    assert shown["Invoice 1"]["amount"] == {"value": "1190.00", "currency": "EUR"}
    assert [each["document_date"] for each in shown.values()] == ["2024-03-17", ""]
    text = Document.objects.with_text().get(pk=bills["Invoice 1"]).text
    assert text[slice(*shown["Invoice 1"]["date_place"].values())] == "2024-03-17"
    for each in shown.values():
        text = Document.objects.with_text().get(pk=each["document_id"]).text
        assert text[each["start_char"] : each["end_char"]] == each["quote"]
    assert {each["quote"] for each in shown.values()} == {"1,190.00 EUR", "500.01"}
    assert count(api, "invoice", amount="at least 500 EUR")["document_count"] == 3
    assert count(api, "invoice", amount="under 1000 USD")["results"][0]["quote"] == "$900"
    unclear = count(api, "invoices", amount="over 500 EUR", unit="unclear")
    assert [each["document_name"] for each in unclear["results"]] == ["Invoice 4", "Invoice 5"]
    assert unclear["total_results"] == 2
    by_month = count(api, "invoices", amount="over 1 EUR", group_by="month", sort="date", limit=1)
    assert [(each["name"], each["document_count"]) for each in by_month["groups"]] == [
        ("", 1), ("2024-03", 1), ("2024-05", 1),
    ]  # fmt: skip
    assert by_month["results"][0]["document_name"] == "Invoice 2"
    body = {"query": "invoices", "amount": "over 500 EUR", "format": "csv"}
    rows = list(csv.DictReader(StringIO(api.post("/count", body).content.decode())))
    assert [(row["amount"], row["document_date"]) for row in rows] == [
        ("1190.00 EUR", "2024-03-17"), ("500.01 EUR", ""),
    ]  # fmt: skip


def test_tag_folder_and_collection_name_documents(api: Api) -> None:
    api.post("/create", {"index_name": "contracts"})
    folder = {"source": "web", "source_uri": "https://a.example/contract/7.md"}
    api.ingest(f"The fee is 20,000 EUR. {THANKS}", title="Acme", tags=("Contract",))
    api.ingest(f"The price is 30,000 EUR. {THANKS}", title="Baker", **folder)
    body = {"text": f"The price is 5,000 EUR. {THANKS}", "title": "Cole", "collection": "contracts"}
    assert api.post("/ingest", body).status_code == 201
    api.ingest(f"The contract says 90,000 EUR. {THANKS}", title="Dora")
    found = count(api, "contracts", amount="over 10,000", collection="*")
    assert (found["document_count"], found["searched_count"]) == (2, 3)
    assert {each["document_name"] for each in found["results"]} == {"Acme", "Baker"}


def test_question_for_amounts_is_answered_by_the_count(api: Api, bills: dict[str, str]) -> None:
    answer = api.answer("List all invoices over 500 EUR with their dates")
    assert answer["answer"].startswith(
        "2 of 5 documents named “invoices” state an amount over 500 EUR."
    )
    assert "Not compared: 2 documents" in answer["answer"]
    assert "\n- Invoice 1: Total: 1,190.00 EUR, due on 2024-04-17. – 2024-03-17" in answer["answer"]
    assert (answer["kind"], answer["confidence"], answer["answerer"]) == ("answer", 1.0, "count")
    for each in answer["citations"]:
        assert answer["answer"][each["answer_start"] : each["answer_end"]] == each["quote"]
    shown = api.page(f"/ui/answers/{answer['id']}")
    assert 'href="/ui/count?q=invoices&amp;amount=over+500+EUR&amp;collection=default"' in shown


def test_amounts_that_cannot_be_compared_are_not_counted(api: Api, bills: dict[str, str]) -> None:
    answer = api.answer("Which invoices are over 500?")  # EUR and USD
    assert (answer["kind"], answer["citations"]) == ("abstained", [])
    assert "Amounts in several currencies are not compared" in answer["notice"]
    none = api.answer("Which invoices are over 5,000 EUR?")
    assert none["notice"].startswith("None of the documents named so clearly states such an amount")
    reply = api.post("/count", {"query": "invoices", "amount": "over 500"})
    assert reply.status_code == 400
    assert "EUR and USD" in reply.content.decode()
    assert api.answer("Which receipts are over 500 EUR?")["answerer"] != "count"


def test_page_counts_amounts(api: Api, bills: dict[str, str]) -> None:
    shown = api.page("/ui/count", q="invoices", amount="over 500 EUR")
    assert "2 of 5 documents" in shown
    assert "1,190.00 EUR</span>" in shown
    assert f"/ui/documents/{bills['Invoice 1']}?start=" in shown
    assert "Not compared: 2 documents" in shown
    unclear = api.page("/ui/count", q="invoices", amount="over 500 EUR", unit="unclear")
    assert "Invoice 4" in unclear
