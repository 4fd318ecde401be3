"""Read files by a server that speaks the protocol of docling-serve, or of Apache Tika.

Its text is stored like that of a loader, and quotes are spans of it.
"""

import html
import json
import mimetypes
import re
from contextlib import suppress
from dataclasses import replace
from http import HTTPStatus
from pathlib import PurePath
from time import monotonic
from typing import Any
from urllib.parse import quote

import httpx2
from django.conf import settings

from corpus.errors import (
    BackendError,
    BackendUnavailable,
    EmptyDocument,
    TextTooLong,
    TooLarge,
    UnreadableFile,
)
from corpus.loaders import LoaderLimits, load_file, registry, supported_extensions
from corpus.loaders.blocks import LoadedDocument
from corpus.loaders.metadata import normalize_metadata

_CONNECT_S = 10.0
# A letter has up to four bytes; the rest is JSON, or HTML around the text.
_REPLY_BYTES_PER_CHAR = 8
# Marks the end of a page in Markdown.
_PAGE_BREAK = "<!-- pkb: end of page -->"
# Begins a page of what Tika makes of a PDF.
_TIKA_PAGE = re.compile(r'<div class="page">')
# docling-serve escapes these in Markdown, and marks pictures; a quote should read like its page.
_ESCAPED = re.compile(r"\\([_*#])|<!-- image -->")
# The server, or what is before it, is busy or being restarted.
_PASSING = {408, 425, 429, 502, 503, 504}
# It has no such path, or does not take the key.
_MISCONFIGURED = {401, 403, 404, 405}


def readable_extensions() -> set[str]:
    """Return the extensions that loaders or the converter read, without the dot."""
    return {*supported_extensions(), *settings.PKB_CONVERTER["extensions"]}


def load_or_convert(
    content: bytes, *, filename: str, media_type: str, limits: LoaderLimits
) -> tuple[LoadedDocument, str]:
    """Read a file by the converter if its extension is one of ``PKB_CONVERTER_FORMATS``.

    Args, Returns and Raises as ``load_file``, and also:
        BackendUnavailable: The converter cannot be reached, or is busy.
        BackendError: It has no such path, or does not take the key.
    """
    extension = PurePath(filename).suffix.lower().removeprefix(".")
    if extension not in settings.PKB_CONVERTER["extensions"]:
        return load_file(content, filename=filename, media_type=media_type, limits=limits)
    if len(content) > limits.max_file_bytes:
        raise TooLarge(
            f"The file has {len(content):,} bytes; {limits.max_file_bytes:,} are allowed."
        )
    protocol = settings.PKB_CONVERTER["url"].partition("+")[0]
    is_docling = protocol == "docling"
    fetch_pages = _fetch_docling_pages if is_docling else _fetch_tika_pages
    pages = fetch_pages(content, filename, max_chars=limits.max_chars)
    name = f"{PurePath(filename).stem}.{'md' if is_docling else 'html'}"
    documents: list[LoadedDocument] = []
    for number, page in enumerate(pages, start=1):
        with suppress(EmptyDocument):  # a page without text is skipped
            document, _ = load_file(page.encode(), filename=name, limits=limits)
            blocks = document.blocks
            if len(pages) > 1:
                blocks = tuple(replace(block, page=number) for block in blocks)
            documents.append(replace(document, blocks=blocks))
    if not documents:
        raise EmptyDocument("The converter found no text in the file.")
    named = registry.MEDIA_TYPE_OF_EXTENSION.get(extension) or mimetypes.guess_type(filename)[0]
    metadata = {**documents[0].metadata, "converter": protocol}
    return (
        replace(
            documents[0],
            blocks=tuple(block for document in documents for block in document.blocks),
            metadata=normalize_metadata(metadata),
        ),
        named or "application/octet-stream",
    )


def _fetch_docling_pages(content: bytes, filename: str, *, max_chars: int) -> list[str]:
    """Return the Markdown of each page; of all pages in one if the server marks none."""
    reply = _fetch(
        "POST",
        "/v1/convert/file",
        max_chars=max_chars,
        files={"files": (filename, content, "application/octet-stream")},
        data={
            "to_formats": "md",
            "image_export_mode": "placeholder",
            "md_page_break_placeholder": _PAGE_BREAK,
        },
    )
    try:
        converted = json.loads(reply)
        status, text = converted["status"], converted["document"]["md_content"]
    except (ValueError, KeyError, TypeError):
        raise BackendError("The converter's reply is not that of docling-serve.") from None
    if status not in {"success", "partial_success"} or not isinstance(text, str):
        raise UnreadableFile("The converter could not read the file.")
    return [html.unescape(_ESCAPED.sub(r"\1", page)) for page in text.split(_PAGE_BREAK)]


def _fetch_tika_pages(content: bytes, filename: str, *, max_chars: int) -> list[str]:
    """Return the HTML of each page, with the title; of all in one if the file has no pages."""
    name = f"attachment; filename*=UTF-8''{quote(filename)}"
    headers = {"Accept": "text/html", "Content-Disposition": name}
    reply = _fetch("PUT", "/tika", max_chars=max_chars, content=content, headers=headers)
    head, *bodies = _TIKA_PAGE.split(reply)
    return [head + body for body in bodies] or [head]


def _fetch(method: str, path: str, *, max_chars: int, **request: Any) -> str:
    """Return the text that the converter answers with."""
    url = settings.PKB_CONVERTER["url"].partition("+")[2].rstrip("/")
    timeout_s = settings.PKB_CONVERTER["timeout_s"]
    key = settings.PKB_CONVERTER["key"]
    headers = {**request.pop("headers", {}), **({"X-Api-Key": key} if key else {})}
    ends = monotonic() + timeout_s
    received = bytearray()
    timeout = httpx2.Timeout(timeout_s, connect=min(_CONNECT_S, timeout_s))
    try:
        # Only the address of the setting is contacted: no proxy, no redirect.
        with (
            httpx2.Client(timeout=timeout, trust_env=False, follow_redirects=False) as client,
            client.stream(method, f"{url}{path}", headers=headers, **request) as response,
        ):
            _check_status(response.status_code)
            for piece in response.iter_bytes():
                received += piece
                if len(received) > max_chars * _REPLY_BYTES_PER_CHAR:
                    raise TextTooLong("The converter answered with too long a text.")
                if monotonic() > ends:
                    raise UnreadableFile(f"The converter took over {timeout_s:g} s.")
    except (httpx2.ReadTimeout, httpx2.WriteTimeout):
        raise UnreadableFile(f"The converter took over {timeout_s:g} s.") from None
    except (httpx2.HTTPError, httpx2.InvalidURL) as exc:
        # Its text may quote the request; its kind says enough.
        message = f"The converter cannot be reached: {type(exc).__name__}."
        raise BackendUnavailable(message) from None
    return received.decode("utf-8", "replace")


def _check_status(status: int) -> None:
    if status == HTTPStatus.OK:
        return
    if status == HTTPStatus.NO_CONTENT:
        raise EmptyDocument("The converter found no text in the file.")
    if status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
        raise TooLarge("The converter takes no files as large as this one.")
    if status in _PASSING:
        raise BackendUnavailable(f"The converter answered {status}.")
    if status in _MISCONFIGURED or status < HTTPStatus.BAD_REQUEST:
        raise BackendError(f"The converter answered {status}: check PKB_CONVERTER_URL and its key.")
    raise UnreadableFile(f"The converter could not read the file: it answered {status}.")
