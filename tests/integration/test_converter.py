"""Files read by a server: docling-serve's and Tika's protocols, spoken by a process."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from corpus.converter import load_or_convert, readable_extensions
from corpus.errors import (
    BackendError,
    BackendUnavailable,
    EmptyDocument,
    PkbError,
    TextTooLong,
    TooLarge,
    UnreadableFile,
)
from corpus.ingestion.file_scan import find_files
from corpus.loaders import LoaderLimits
from corpus.models import Document
from pkb.env import Env
from pkb.product_settings import product_settings
from tests.support.converter_server import KEY, converting
from tests.support.ports import free_port

TEXT = "# Tides\n\nHigh water_mark & low water are at nine.\fSpring tides follow the moon."


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with converting() as address:
        yield address


@pytest.fixture
def use(settings: Any) -> Any:
    def configure(url: str, **changed: Any) -> None:
        given = {"PKB_CONVERTER_URL": url, "PKB_CONVERTER_FORMATS": "vsd,pdf", **changed}
        env = Env(_env_file=None, **given)  # type: ignore[call-arg]
        settings.PKB_CONVERTER = product_settings(env, Path("/nowhere"))["PKB_CONVERTER"]

    return configure


def read(content: str, name: str = "tides.vsd", **limits: Any) -> Any:
    return load_or_convert(
        content.encode(), filename=name, media_type="", limits=LoaderLimits(**limits)
    )


@pytest.mark.parametrize("protocol", ["docling", "tika"])
def test_pages_and_text_are_those_of_the_server(use: Any, server: str, protocol: str) -> None:
    use(f"{protocol}+{server}/")
    document, media_type = read(TEXT)
    assert (document.title, document.metadata) == (
        "Tides" if protocol == "docling" else "Of tides.vsd",
        {"converter": protocol},
    )
    texts = [(block.text, block.page) for block in document.blocks]
    assert texts[-2:] == [
        (texts[-2][0], 1), ("Spring tides follow the moon.", 2),
    ]  # fmt: skip
    assert "High water_mark & low water are at nine." in texts[-2][0]
    assert media_type == "application/vnd.visio"


def test_a_text_without_pages_has_none(use: Any, server: str) -> None:
    use(f"docling+{server}")
    document, media_type = read("High water is at nine. <!-- image -->", "größe – 1.pdf")
    assert [(b.text, b.page) for b in document.blocks] == [("High water is at nine.", None)]
    assert (document.title, media_type) == ("größe – 1", "application/pdf")


def test_the_key_is_sent_and_not_shown(use: Any, server: str) -> None:
    use(f"docling+{server}", PKB_CONVERTER_KEY=KEY)
    assert read(TEXT)[0].title == "Tides"
    use(f"docling+{server}", PKB_CONVERTER_KEY="another")
    with pytest.raises(BackendError, match="answered 401: check PKB_CONVERTER_URL") as raised:
        read(TEXT)
    assert "another" not in str(raised.value)


@pytest.mark.parametrize(
    ("content", "error", "message"),
    [
        ("status 500", UnreadableFile, "answered 500"),
        ("status 422", UnreadableFile, "answered 422"),
        ("status 503", BackendUnavailable, "answered 503"),
        ("status 302", BackendError, "answered 302"),
        ("status 404", BackendError, "check PKB_CONVERTER_URL"),
        ("status 413", TooLarge, "no files as large"),
        ("status 204", EmptyDocument, "found no text"),
        ("bytes 9000", TextTooLong, "too long a text"),
        ("sleep 5", UnreadableFile, "took over 1 s"),
        ("drip", UnreadableFile, "took over 1 s"),
        ("\f", EmptyDocument, "found no text"),
    ],
)
@pytest.mark.parametrize("protocol", ["docling", "tika"])
def test_each_failure_has_its_error(
    use: Any, server: str, protocol: str, content: str, error: type[PkbError], message: str
) -> None:
    use(f"{protocol}+{server}", PKB_CONVERTER_TIMEOUT_S=1)
    with pytest.raises(error, match=message) as raised:
        read(content, max_chars=1_000)
    assert type(raised.value) is error


@pytest.mark.parametrize(
    ("content", "error"),
    [
        ("broken", UnreadableFile),
        ("raw []", BackendError),
        ("raw {}", BackendError),
        ("raw -", BackendError),
    ],
)
def test_a_reply_in_another_form_is_an_error(
    use: Any, server: str, content: str, error: type[PkbError]
) -> None:
    use(f"docling+{server}")
    with pytest.raises(error, match="converter"):
        read(content)


def test_an_unreachable_server_is_to_be_asked_again(use: Any) -> None:
    use(f"tika+http://127.0.0.1:{free_port()}")
    with pytest.raises(BackendUnavailable, match="cannot be reached: ConnectError"):
        read(TEXT)


def test_a_file_over_the_limit_is_not_sent(use: Any) -> None:
    use(f"tika+http://127.0.0.1:{free_port()}")
    with pytest.raises(TooLarge, match="50 bytes; 10 are allowed"):
        read("x" * 50, max_file_bytes=10)


def test_only_named_formats_are_sent_and_none_by_default(use: Any, tmp_path: Path) -> None:
    for name in ("a.vsd", "a.md"):
        (tmp_path / name).write_text(TEXT)
    use(f"tika+http://127.0.0.1:{free_port()}")
    assert read("High water.", "a.md")[1] == "text/markdown"
    assert [found.path.name for found in find_files([tmp_path])] == ["a.md", "a.vsd"]
    use("")
    assert "vsd" not in readable_extensions()
    assert [found.path.name for found in find_files([tmp_path])] == ["a.md"]


@pytest.mark.parametrize(
    "url", ["http://a", "docling+ftp://a", "docling+http://", "tika+http:// a"]
)
def test_an_address_in_another_form_is_rejected(use: Any, url: str) -> None:
    with pytest.raises(ValueError, match="PKB_CONVERTER_URL"):
        use(url)


@pytest.mark.django_db
@pytest.mark.usefixtures("cheap_model")
def test_a_quote_is_a_span_of_the_converted_text(use: Any, server: str, client: Client) -> None:
    use(f"docling+{server}")
    sent = {"file": SimpleUploadedFile("tides.vsd", TEXT.encode())}
    reply = client.post("/ingest", sent)
    assert reply.status_code == 201, reply.content
    document = Document.objects.get(pk=reply.json()["document_id"])
    assert document.media_type == "application/vnd.visio"
    answer = client.get("/answer", {"q": "When is high water mark?"}).json()
    text = document.content.text
    shown = [*answer["citations"], *answer["closest"]]
    assert shown
    for each in shown:
        quote = each.get("quote") or each["text"]
        assert quote in text
