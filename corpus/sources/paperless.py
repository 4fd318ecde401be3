"""Documents of paperless-ngx, by its REST API.

Listings request only the fields that show changes. The archived version of a file is preferred: it
contains the OCR text of paperless.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import nullcontext, suppress
from datetime import UTC, datetime
from functools import cached_property
from hashlib import sha256
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import Field

from corpus.errors import SourceUnavailable, TooLarge
from corpus.sources.source import Entry, EntryContent, EntryFile
from corpus.sources.source_settings import SourceSettings
from corpus.sources.web_client import WebClient

PAGE_SIZE = 250
# Limits a listing that never ends.
_MAX_PAGES = 10_000
# The fields that show a change; a listing requests no others.
_FIELDS = ("id", "title", "modified", "correspondent", "document_type", "tags")
_NAMED = {"tags": "tags", "correspondent": "correspondents", "document_type": "document_types"}

Record = Mapping[str, Any]


class Settings(SourceSettings):
    """A paperless-ngx, and the token of the user whose documents are mirrored."""

    kind: Literal["paperless"]
    url: str = Field(pattern=r"^https?://[^/?#@\s]+(/[^?#\s]*)?$")

    @property
    def address(self) -> str:
        return self.url.rstrip("/")

    def open(self, *, max_bytes: int) -> "Paperless":
        return Paperless(self, max_bytes=max_bytes)


class Paperless:
    """One paperless-ngx, as the token's user sees it."""

    def __init__(self, settings: Settings, *, max_bytes: int) -> None:
        self._settings = settings
        self._max_bytes = max_bytes
        parts = urlsplit(settings.address)
        self._prefix = f"paperless://{parts.netloc}{parts.path}/documents/"
        self._names: dict[str, dict[int, str]] = {}

    def list_entries(self) -> Iterator[Entry]:
        self._names = {}
        for record in self._pages("documents", f"&fields={','.join(_FIELDS)}"):
            yield Entry(f"{self._prefix}{int(record['id'])}", self._version(record))

    def read(self, uri: str) -> EntryContent:
        number = uri.removeprefix(self._prefix)
        if not number.isdecimal() or not uri.startswith(self._prefix):
            raise SourceUnavailable(f"{uri} is no document of {self._settings.address}.")
        record = self._client.fetch_json(f"documents/{number}/")
        try:
            named = {field: self._read_names(field, record) for field in _NAMED}
            metadata = {
                "correspondent": next(iter(named["correspondent"]), ""),
                "document_type": next(iter(named["document_type"]), ""),
                "archive_serial_number": record.get("archive_serial_number"),
                "url": f"{self._settings.address}/documents/{number}/details",
            }
            text = str(record.get("content") or "")
            filename = record.get("archived_file_name") or record.get("original_file_name") or ""
            # A file that is too large may be left out if it has text.
            content = b""
            which = "" if record.get("archived_file_name") else "?original=true"
            with nullcontext() if not text.strip() else suppress(TooLarge):
                path = f"documents/{number}/download/{which}"
                content = self._client.fetch(path, max_bytes=self._max_bytes)
            part = EntryFile(
                content,
                filename=str(filename),
                title=str(record.get("title") or ""),
                tags=tuple(dict.fromkeys(name for names in named.values() for name in names)),
                metadata={name: value for name, value in metadata.items() if value},
                created_at=_moment(record.get("created")),
                modified_at=_moment(record.get("modified")),
            )
            return EntryContent(self._version(record), part, fallback_text=text)
        except (KeyError, TypeError, ValueError) as exc:
            raise self._unexpected_reply() from exc

    def close(self) -> None:
        self.__dict__.pop("_client", None)

    @cached_property
    def _client(self) -> WebClient:
        token = self._settings.credential()
        return WebClient(
            self._settings.name,
            base_url=f"{self._settings.address}/api/",
            headers={"Authorization": f"Token {token}"},
        )

    def _version(self, record: Record) -> str:
        """Return the version, which includes names: renaming a tag does not touch documents."""
        try:
            names = {field: self._read_names(field, record) for field in _NAMED}
            content = json.dumps([record["modified"], record["title"], names], sort_keys=True)
        except (KeyError, TypeError, ValueError) as exc:
            raise self._unexpected_reply() from exc
        return sha256(content.encode()).hexdigest()

    def _read_names(self, field: str, record: Record) -> list[str]:
        """Return the names of the objects that a document refers to by id, in order."""
        value = record.get(field)
        numbers = value if isinstance(value, list) else [value]
        kind = _NAMED[field]
        if kind not in self._names:
            self._names[kind] = {row["id"]: str(row["name"]) for row in self._pages(kind)}
        known = self._names[kind]
        return sorted(known[each] for each in numbers if each in known)

    def _pages(self, kind: str, query: str = "") -> Iterator[Record]:
        """Yield the rows of all pages.

        The server returns the URL of the next page; behind a proxy it may name a wrong host, so the
        URL is built here.
        """
        for page in range(1, _MAX_PAGES):
            path = f"{kind}/?page={page}&page_size={PAGE_SIZE}&ordering=id{query}"
            reply = self._client.fetch_json(path)
            rows = reply.get("results")
            if not isinstance(rows, list):
                raise self._unexpected_reply()
            if not all(isinstance(row, dict) and isinstance(row.get("id"), int) for row in rows):
                raise self._unexpected_reply()
            yield from rows
            if not reply.get("next"):
                return
        raise self._unexpected_reply()

    def _unexpected_reply(self) -> SourceUnavailable:
        return SourceUnavailable(f"{self._settings.name}: the response is not from paperless-ngx.")


def _moment(value: Any) -> datetime | None:
    """Parse a date or a time; the API's versions differ."""
    try:
        moment = datetime.fromisoformat(str(value))
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
