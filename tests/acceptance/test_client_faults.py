"""What a client does wrong, or the database's being away, is told as that: nothing is a 500."""

import json
from base64 import b64encode
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import quote

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import OperationalError, connection
from mcp.server.mcpserver.exceptions import ToolError

from corpus.access.principal import bind_principal
from corpus.characters import MAX_DEPTH
from corpus.models import Document
from qa.api.mcp.tools import as_tool
from tests.support.client import Api
from tests.support.documents import LIGHTHOUSE, Ingest


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/collections/%00", 404),
        ("/collections/a%00b", 404),
        ("/tags/%00", 404),
        ("/v1/models/pkb%2F%00", 404),
        ("/documents?tag=%00", 400),
        ("/documents?collection=%00", 400),
        ("/documents?q=%00", 400),
        ("/answer?q=a&tag=%00", 400),
        ("/ui/library?tag=%00", 400),
        ("/ui/library?q=%00", 400),
        ("/ui/search?q=a&tag=%00", 400),
        ("/ui/search?q=a&collection=%00", 400),
        ("/schema?version=%00", 200),
        ("/schema?format=yaml&version=%00", 200),
    ],
)
def test_a_nul_in_an_address_is_the_client_s_fault(api: Api, path: str, status: int) -> None:
    assert api.get(path).status_code == status


POSITIONS = [
    "p=abc", "p=", "p=infinity", "p=%00", "p=5", "p=2026-01-01", "p=0001-01-01T00:00:00%2B14:00",
    "p=9999-12-31", "p=-1", "p=99999999999", "p=" + "9" * 5_000, "p=%F0", "r=1&p=x", "o=x&p=x",
]  # fmt: skip


@pytest.mark.parametrize("position", POSITIONS)
def test_a_damaged_cursor_is_400_or_an_empty_page(api: Api, position: str) -> None:
    stored = api.ingest(LIGHTHOUSE, tags=("coast",))
    cursor = quote(b64encode(position.encode()).decode())
    chunks = f"/documents/{stored.document_id}/chunks"
    for path in ("/documents", "/collections", "/jobs", "/tags", chunks):
        assert api.get(f"{path}?cursor={cursor}").status_code in {200, 400}, path
    if position in {"p=abc", "p=infinity", "p=%00", "p="}:
        assert api.get(f"/documents?cursor={cursor}").status_code == 400


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


WRITTEN = [
    '{"x": 1e999}', '{"x": [-1e999]}', '{"x": "\\u0000"}', '{"\\ud800": 1}', "[1]", "x", '"x"',
    json.dumps({"x": nested(MAX_DEPTH)}), json.dumps({"x": nested(900)}), "[" * 100_000,
]  # fmt: skip


@pytest.mark.parametrize("written", WRITTEN)
def test_metadata_that_cannot_be_stored_is_400(api: Api, written: str) -> None:
    body = f'{{"text": {json.dumps(LIGHTHOUSE)}, "metadata": {written}}}'
    sent = api.post("/ingest", body, content_type="application/json")
    form = {"file": SimpleUploadedFile("a.md", LIGHTHOUSE.encode()), "metadata": written}
    in_form = api.post("/ingest", form, format="multipart")
    assert (sent.status_code, in_form.status_code) == (400, 400)


def test_metadata_as_deep_as_is_stored_is_shown(api: Api) -> None:
    metadata = {"x": nested(MAX_DEPTH - 1)}
    form = {"file": SimpleUploadedFile("a.md", LIGHTHOUSE.encode())}
    made = api.post("/ingest", form | {"metadata": json.dumps(metadata)}, format="multipart")
    assert made.status_code == 201, made.content
    shown = api.get(f"/documents/{made.json()['document_id']}")
    assert shown.json()["metadata"] == metadata


HOSTILE_FILES = {
    "front.md": "---\ntitle: \"A\\0\\x1b\\uD800 title\"\nauthor: \"\\0I\\x07da\"\n\"k\\0ey\": 1\n"
    f"tags: [\"a\\0b\", \"{'long ' * 40}\"]\nchapter: {'c' * 900}\n---\n\n{LIGHTHOUSE}",
    "deep.md": f"---\nx:\n{''.join(' ' * n + 'a:' + chr(10) for n in range(600))}---\n{LIGHTHOUSE}",
    "page.html": f"<title>T&#1;\x01 {'t' * 900}</title><meta name=author content='\x02I'>"
    f"<meta name=keywords content='{','.join(str(n) for n in range(300))}'>"
    f"<h1>He&#8232;ad\x03</h1><p>{LIGHTHOUSE}",
    "notes.rst": f"Ti\x01tle\n=======\n\n:author: I\x02da\n\n{LIGHTHOUSE}",
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE_FILES)
def test_what_a_file_says_of_itself_is_cleaned_like_its_text(api: Api, name: str) -> None:
    file = SimpleUploadedFile(name, HOSTILE_FILES[name].encode())
    made = api.post("/ingest", {"file": file}, format="multipart")
    assert made.status_code in {201, 422}, made.content
    if made.status_code == 201:
        document = Document.objects.get()
        said = json.dumps([document.title, document.metadata, document.chapter])
        assert "\\u00" not in said
        assert len(document.title) <= 512
        assert api.get("/documents").status_code == 200
        assert api.get(f"/ui/documents/{document.pk}").status_code == 200


def test_a_pdf_s_title_with_a_nul_is_stored_without(ingest: Ingest) -> None:
    from corpus.ingestion.submission import Attributes  # noqa: PLC0415
    from corpus.loaders.blocks import Block, LoadedDocument  # noqa: PLC0415

    loaded = LoadedDocument(
        (Block(LIGHTHOUSE),),
        title="Coast\x00 \ud800guide",
        metadata={"au\x00thor": ["I\x1bda", float("inf")], "deep": nested(900)},
        tags=("sea\x00", "x" * 65),
    )
    filled = Attributes().filled_from(
        loaded, name="Co\x00ast \ud800guide.pdf", media_type="application/pdf", size_bytes=9
    )
    assert (filled.title, filled.tags) == ("Coast guide", ("sea",))
    assert filled.metadata["author"] == ["Ida", None]
    assert filled.file_words == "Co ast"
    document = Document.objects.get(pk=ingest(LIGHTHOUSE).document_id)
    document.title, document.metadata = filled.title, dict(filled.metadata)
    document.save()
    document.refresh_from_db()
    assert document.title == "Coast guide"


@pytest.fixture
def database_away() -> Iterator[None]:
    """No statement gets through: at the edge, where the connection would have failed."""

    def fail(*args: Any) -> None:
        raise OperationalError("server closed the connection unexpectedly")

    with connection.execute_wrapper(fail):
        yield


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("get", "/documents"), ("get", "/answer?q=Who"), ("get", "/tags"), ("get", "/v1/models"),
        ("post", "/ingest"), ("post", "/search"), ("post", "/ask"), ("get", "/ui/library"),
        ("get", "/ui/ask"), ("get", "/ui/jobs"), ("get", "/admin/"),
        ("get", "/admin/corpus/document/"), ("get", "/admin/login/"),
    ],
)  # fmt: skip
def test_while_the_database_is_away_it_is_503(
    api: Api, database_away: None, method: str, path: str
) -> None:
    api.cookies["sessionid"] = "of-somebody-who-is-logged-in"
    body = {"text": LIGHTHOUSE, "query": "lamp", "question": "Who lights it?"}
    sent = {"data": body, "format": "json"} if method == "post" else {}
    reply = getattr(api, method)(path, **sent)
    assert reply.status_code == 503
    assert reply["Retry-After"] == "5"
    assert b"server closed" not in reply.content


@pytest.mark.parametrize("path", ["/health", "/docs", "/admin"])
def test_a_cookie_asks_for_no_database_where_none_is_needed(
    api: Api, database_away: None, path: str
) -> None:
    api.cookies["sessionid"] = "of-somebody-who-is-logged-in"
    assert api.get(path).status_code in {200, 302}


def test_a_tool_tells_that_the_database_is_away() -> None:
    def fail() -> None:
        raise OperationalError("server closed the connection unexpectedly")

    with ThreadPoolExecutor(1) as pool, pytest.raises(ToolError, match="try again soon"):
        pool.submit(bind_principal(as_tool(fail))).result()
