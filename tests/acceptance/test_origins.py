"""Pages of other sites write nothing; scripts and our own pages do."""

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from corpus.models import Collection, Document
from qa.models import Answer
from tests.support.client import Api
from tests.support.documents import BAKERY, LIGHTHOUSE, LIGHTHOUSE_QUESTION

OURS = "kb.example:8000"
EVIL = "https://evil.example"
FOREIGN = [
    pytest.param({"Origin": EVIL}, id="another site"),
    pytest.param({"Origin": "null"}, id="a sandbox"),
    pytest.param({"Origin": "http://kb.example:3000"}, id="another port"),
    pytest.param({"Origin": "http://[kb.example"}, id="no address"),
    pytest.param({"Origin": f"https://{OURS}"}, id="another scheme"),
    pytest.param(
        {"Origin": f"http://{OURS}", "Sec-Fetch-Site": "cross-site"}, id="cross-site, our name"
    ),
    pytest.param({"Origin": "http://public.example"}, id="our public name by http"),
    pytest.param({"Sec-Fetch-Site": "cross-site"}, id="cross-site"),
    pytest.param({"Sec-Fetch-Site": "same-site"}, id="same-site"),
]
OWN = [
    pytest.param({}, id="a script"),
    pytest.param({"Origin": f"https://{OURS}", "Sec-Fetch-Site": "same-origin"}, id="our page"),
    pytest.param({"Origin": f"http://{OURS}"}, id="our page, of an old browser"),
    pytest.param({"Origin": "https://public.example"}, id="our public address"),
    pytest.param({"Sec-Fetch-Site": "none"}, id="a person"),
]


@pytest.fixture(autouse=True)
def hosts(settings: Any) -> None:
    settings.ALLOWED_HOSTS = [".kb.example"]
    settings.PKB_PUBLIC_URL = "https://public.example"


@pytest.mark.parametrize("sent", FOREIGN)
def test_a_page_of_another_site_writes_nothing(api: Api, sent: dict[str, str]) -> None:
    stored = api.ingest(LIGHTHOUSE, source_uri="note:lighthouse")
    headers = {"Host": OURS, **sent}
    file = SimpleUploadedFile("a.md", BAKERY.encode())
    form = {"file": file, "source_uri": "note:lighthouse"}
    question = {"question": LIGHTHOUSE_QUESTION}
    replies: list[Any] = [
        api.post("/ingest", form, format="multipart", headers=headers),
        api.post("/collections", {"name": "notes"}, headers=headers),
        api.patch("/collections/default", {"description": "x"}, headers=headers),
        api.delete(f"/documents/{stored.document_id}", headers=headers),
        api.post("/ask", question, headers=headers),
        api.get("/answer", {"q": LIGHTHOUSE_QUESTION}, headers=headers),
        api.head("/answer", {"q": LIGHTHOUSE_QUESTION}, headers=headers),
        api.post("/v1/chat/completions", {}, headers=headers),
        api.post("/ui/library/paste", {"text": BAKERY}, format="multipart", headers=headers),
        api.post("/admin/login/", {"username": "x"}, format="multipart", headers=headers),
    ]
    assert {reply.status_code for reply in replies} == {403}
    assert replies[0]["Content-Type"] == "application/problem+json"
    assert replies[0].json()["error"] == "forbidden"
    assert list(Document.objects.values_list("content__text", flat=True)) == [LIGHTHOUSE]
    assert list(Collection.objects.values_list("name", "description")) == [("default", "")]
    assert not Answer.objects.exists()
    # What writes nothing is told, for a link from elsewhere leads here too.
    for path in ("/documents", "/ui/library", "/health"):
        assert api.get(path, headers=headers).status_code == 200


@pytest.mark.parametrize("sent", OWN)
def test_who_is_no_page_of_another_site_writes(api: Api, sent: dict[str, str]) -> None:
    body = {"text": LIGHTHOUSE}
    reply = api.post("/ingest", body, headers={"Host": OURS, **sent})
    assert reply.status_code == 201


def test_an_origin_that_is_named_writes(api: Api, settings: Any) -> None:
    settings.CORS_ALLOWED_ORIGINS = [EVIL]
    headers = {"Host": OURS, "Origin": EVIL, "Sec-Fetch-Site": "cross-site"}
    reply = api.post("/ingest", {"text": LIGHTHOUSE}, headers=headers)
    assert (reply.status_code, reply["Access-Control-Allow-Origin"]) == (201, EVIL)
    other = headers | {"Origin": "https://other.example"}
    assert api.post("/ingest", {}, headers=other).status_code == 403
    settings.CORS_ALLOW_ALL_ORIGINS = True
    assert api.post("/ingest", {}, headers=other).status_code == 400


def test_our_own_forms_are_sent(admin_user: Any) -> None:
    client = Client(enforce_csrf_checks=True)
    host = {"Host": OURS}
    client.get("/ui/ask", headers=host)
    page = host | {"Origin": f"http://{OURS}", "X-CSRFToken": client.cookies["csrftoken"].value}
    pasted = client.post("/ui/library/paste", {"text": BAKERY}, headers=page)
    assert pasted.status_code == 302
    login = {"username": "admin", "password": "password", "next": "/admin/"}
    assert client.post("/admin/login/", login, headers=page).status_code == 302
