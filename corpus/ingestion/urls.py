"""Bring in what an address names, and what has become of it since."""

from dataclasses import replace
from hashlib import sha256
from pathlib import PurePosixPath
from typing import TypedDict
from urllib.parse import unquote, urldefrag, urlsplit

from django.conf import settings

from corpus.errors import DuplicateDocument
from corpus.ingestion.ingest import ingest_file
from corpus.ingestion.store import Attributes, StoredDocument
from corpus.models import Collection, Document
from corpus.public_web import FetchResult, fetch

# What is kept of the last time, among the document's metadata.
FETCHED = "fetched"
# Somebody waits for it, and no other request has the place meanwhile.
FETCH_TIMEOUT_S = 10.0


def ingest_url(
    url: str,
    *,
    collection: Collection,
    attributes: Attributes,
    apply_routing: bool = False,
    is_awaited: bool = False,
) -> StoredDocument:
    """Bring a page or file of the internet in, in place of the version its address had.

    Where its server says that it has not changed, it is not even sent again; where its bytes are
    those of last time, it is not loaded.

    Args:
        apply_routing, is_awaited: As ``ingest_file``.

    Raises:
        DuplicateDocument: It is in already, and has not changed.
        FetchingOff, NotFetched: As ``corpus.public_web.fetch``; it has ``FETCH_TIMEOUT_S``.
        PkbError: It cannot be taken in, as ``ingest_file``.
    """
    url, _ = urldefrag(url.strip())
    before = find_by_url(url, collection=collection)
    fetched = fetch(
        url,
        max_bytes=settings.PKB_MAX_FILE_BYTES,
        total_s=FETCH_TIMEOUT_S,
        **validators(before),
    )
    return store_fetched(
        fetched,
        url=url,
        before=before,
        collection=collection,
        attributes=attributes,
        apply_routing=apply_routing,
        is_awaited=is_awaited,
    )


def find_by_url(url: str, *, collection: Collection) -> Document | None:
    """Return what was taken in from an address, whole."""
    known = Document.objects.filter(
        collection=collection, source_uri=url, status=Document.Status.COMPLETED
    )
    return known.defer("raw_text", "outline").first()


def store_fetched(
    fetched: FetchResult | None,
    *,
    url: str,
    before: Document | None,
    collection: Collection,
    attributes: Attributes,
    apply_routing: bool = False,
    is_awaited: bool = False,
) -> StoredDocument:
    """Bring in what came from an address, in place of ``before``; None has not changed since.

    Raises:
        DuplicateDocument, PkbError: As ``ingest_url``.
    """
    file_hash = hash_of(fetched) if fetched else ""
    if before and (fetched is None or file_hash == before.file_hash):
        raise DuplicateDocument(before.pk)
    assert fetched is not None  # noqa: S101  (only what is known has not changed)
    # The name of a page says how it is made, not what it is.
    name = "" if is_page(fetched) else unquote(PurePosixPath(urlsplit(fetched.url).path).name)
    return ingest_file(
        fetched.content,
        filename=name,
        media_type=fetched.media_type,
        collection=collection,
        apply_routing=apply_routing,
        is_awaited=is_awaited,
        attributes=replace(
            attributes,
            source_uri=url,
            file_hash=file_hash,
            metadata={**attributes.metadata, FETCHED: fetch_metadata(fetched)},
        ),
    )


def is_page(fetched: FetchResult) -> bool:
    """Tell whether it is HTML, by what its server says."""
    return fetched.media_type.lower().startswith(("text/html", "application/xhtml"))


def hash_of(fetched: FetchResult) -> str:
    """Return what tells whether it has changed where its server does not."""
    return sha256(fetched.content).hexdigest()


def fetch_metadata(fetched: FetchResult) -> dict[str, str]:
    """Return what is kept of it, by which it is asked for the next time."""
    return {
        "etag": fetched.etag, "last_modified": fetched.last_modified, "url": fetched.url,
    }  # fmt: skip


class Validators(TypedDict):
    """By what a server tells whether something has changed, as ``public_web.fetch`` takes it."""

    etag: str
    last_modified: str


def validators(before: Document | None) -> Validators:
    """Return what its server said of a document the last time; metadata may be anybody's."""
    kept = before.metadata.get(FETCHED) if before else None
    stated = kept if isinstance(kept, dict) else {}
    return {
        "etag": str(stated.get("etag", "")), "last_modified": str(stated.get("last_modified", "")),
    }  # fmt: skip
