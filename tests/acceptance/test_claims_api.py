"""POST /claims/verify and manage.py verify_claim."""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from django.conf import settings

from corpus.models import Document
from corpus.sentences import sentence_spans
from qa.grounding.support.verdict import PARTIAL_FROM
from tests.support.client import Api
from tests.support.commands import refusal, run
from tests.support.documents import BAKERY, LIGHTHOUSE

BUILT = "The lighthouse at Bavoke was built in 1874 by the engineer Orsolya Quill."


def verify(api: Api, claim: str, **body: Any) -> Any:
    return api.post("/claims/verify", {"claim": claim, **body})


@pytest.mark.parametrize(
    ("claim", "support"),
    [
        (BUILT, "supported"),
        ("The lighthouse at Bavoke was built in 1874.", "supported"),
        ("The lighthouse at Bavoke was built in 1875.", "contradicted"),
        ("The lighthouse at Bavoke was not built in 1874.", "contradicted"),
        ("The lighthouse at Bavoke was built in 1874 by the engineer Berta Quill.", "unsupported"),
        ("The bakery sells rye bread.", "unsupported"),
        (f"{BUILT} The tower is forty metres tall.", "contradicted"),
        (f"{BUILT} Every evening it rains.", "unsupported"),
        ("The lighthouse at Bavoke was raised in 1874 by the engineer Orsolya Quill.", "partial"),
    ],
    ids=range(9),
)
def test_claim_against_a_text(api: Api, claim: str, support: str) -> None:
    shown = verify(api, claim, text=LIGHTHOUSE).json()
    assert shown["support"] == support
    assert (shown["score"] >= PARTIAL_FROM) is (support in {"supported", "partial"})


def test_bound_of_the_score_is_in_the_schema(api: Api) -> None:
    shown = api.get("/schema?format=json").json()["components"]["schemas"]["ClaimShown"]
    assert f"from {PARTIAL_FROM} on" in shown["properties"]["score"]["description"]


@pytest.mark.parametrize(
    "claim",
    [f"{BUILT[:-1]} [1].", f"{BUILT}[2][3]", f"{BUILT} [1, 12] {BUILT}"],
    ids=range(3),
)
def test_citation_marks_are_no_part_of_a_claim(api: Api, claim: str) -> None:
    shown = verify(api, claim, text=LIGHTHOUSE).json()
    assert shown["support"] == "supported"
    first = shown["citations"][0]
    assert claim[first["answer_start"] : first["answer_end"]].startswith(BUILT[:-1])
    assert verify(api, "[1][2]", text=LIGHTHOUSE).status_code == 400


@pytest.mark.bare_models
def test_names_of_a_title_are_known(api: Api) -> None:
    claim = (
        "The keeper in Grebbin climbs 212 steps every evening to wind the clockwork of the lens."
    )
    api.ingest(LIGHTHOUSE)
    assert verify(api, claim).json()["support"] == "unsupported"
    api.ingest(f"{LIGHTHOUSE} It is old.", title="The lighthouse of Grebbin")
    assert verify(api, claim).json()["support"] == "partial"


def test_citation_into_the_text_is_selected_and_verbatim(api: Api) -> None:
    text = f"  \n{LIGHTHOUSE}"
    (citation,) = verify(api, BUILT, text=text).json()["citations"]
    assert citation["quote"] == text[citation["start_char"] : citation["end_char"]] == BUILT
    assert citation["selected"] is True
    assert citation["chunk_id"] is citation["document_id"] is None
    assert citation["content_sha256"] == sha256(text.encode()).hexdigest()
    assert (citation["answer_start"], citation["answer_end"]) == (0, len(BUILT))


@pytest.mark.bare_models
def test_claim_against_a_collection_cites_its_document(api: Api) -> None:
    api.ingest(BAKERY)
    stored = api.ingest(LIGHTHOUSE, tags=("coast",))
    shown = verify(api, "The lighthouse at Bavoke was built in 1874.", tags=["coast"]).json()
    (citation,) = shown["citations"]
    document = Document.objects.get(pk=citation["document_id"])
    assert shown["support"] == "supported"
    assert str(document.pk) == stored.document_id
    assert citation["chunk_id"] in stored.chunk_ids
    assert citation["selected"] is False
    quoted = document.content.text[citation["start_char"] : citation["end_char"]]
    assert quoted == citation["quote"]
    assert verify(api, BUILT, tags=["unused"]).json()["support"] == "unsupported"


@pytest.mark.parametrize(
    "body",
    [
        {"claim": ""}, {"claim": "   "}, {"claim": "a" * 2_001}, {"claim": 5},
        {"claim": "It is.", "text": ""}, {"claim": "It is.", "text": " \n"},
        {"claim": "It is.", "text": 5}, {"claim": "It is.", "collection": "1 bad/name"}, {},
        {"claim": "It is. " * 100, "text": "It is."},
    ],
    ids=range(10),
)  # fmt: skip
def test_bad_request_is_400(api: Api, body: dict[str, Any]) -> None:
    response = api.post("/claims/verify", body)
    assert response.status_code == 400
    assert response.json()["error"] == "invalid_input"


def test_claim_of_too_many_sentences_names_the_field(api: Api) -> None:
    (error,) = verify(api, "It is. " * 41, text="It is.").json()["errors"]
    assert error["field"] == "claim"
    assert "40 sentences" in error["message"]
    assert verify(api, "It is. " * 40, text="It is.").status_code == 200


def test_text_is_as_long_as_one_that_is_taken_in(api: Api) -> None:
    response = verify(api, "It is.", text="a" * (settings.PKB_MAX_INPUT_CHARS + 1))
    assert response.status_code == 400
    assert response.json()["errors"][0]["field"] == "text"


def test_text_is_split_once_for_all_sentences_of_a_claim(api: Api) -> None:
    with patch("qa.verify_claim.sentence_spans", wraps=sentence_spans) as spans:
        shown = verify(api, f"{BUILT} {BUILT} {BUILT}", text=LIGHTHOUSE).json()
    assert shown["support"] == "supported"
    assert [call.args[0] for call in spans.call_args_list].count(LIGHTHOUSE) == 1


@pytest.mark.parametrize("claim", ["It does n't.", "n't", "10\u207b\u2076 of ^", "-0^-1 five"])
def test_odd_claim_is_judged(api: Api, claim: str) -> None:
    assert verify(api, claim, text=f"{LIGHTHOUSE} {claim}").status_code == 200


def test_empty_collection_supports_nothing(api: Api) -> None:
    assert verify(api, BUILT).json() == {"support": "unsupported", "score": 0.0, "citations": []}


def test_command_prints_verdict_and_evidence(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(LIGHTHOUSE)
    out, _, _ = run("verify_claim", BUILT, "--file", tmp_path / "a.txt")
    assert out.startswith("supported (")
    assert f'"{BUILT}"' in out
    shown, _, _ = run("verify_claim", BUILT, "--text", LIGHTHOUSE, "--json")
    assert json.loads(shown)["support"] == "supported"


def test_command_names_what_it_cannot_read(tmp_path: Path) -> None:
    assert "cannot be read" in refusal("verify_claim", BUILT, "--file", tmp_path / "absent.txt")[0]
    assert "absent" in refusal("verify_claim", BUILT, "--collection", "absent")[0]
