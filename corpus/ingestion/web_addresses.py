"""Ingest the content of a URL, and update it later."""

from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from pathlib import PurePosixPath
from urllib.parse import unquote, urldefrag, urlsplit

from django.conf import settings

from corpus.errors import DuplicateDocument
from corpus.ingestion.document_writer import StoredDocument
from corpus.ingestion.ingest import ingest_submission
from corpus.ingestion.submission import Attributes, IngestOptions, Submission, SubmittedFile
from corpus.models import Collection, Document
from corpus.public_web import FetchResult, fetch

# Key of the last response in the document's metadata.
FETCHED = "fetched"
# The request occupies a slot while it waits.
FETCH_TIMEOUT_S = 10.0


def ingest_url(
    url: str,
    *,
    collection: Collection,
    attributes: Attributes,
    options: IngestOptions | None = None,
) -> StoredDocument:
    """Ingest a page or file from the internet; replace the stored version of the URL.

    An unchanged file is not downloaded again if the server reports so, and never loaded again.

    Raises:
        DuplicateDocument: It is stored and has not changed.
        FetchingOff, NotFetched: As ``corpus.public_web.fetch``, within ``FETCH_TIMEOUT_S``.
        PkbError: It cannot be ingested, as ``ingest_submission``.
    """
    url, _ = urldefrag(url.strip())
    before = find_by_url(url, collection=collection)
    fetched = fetch(
        url,
        max_bytes=settings.PKB_MAX_FILE_BYTES,
        total_s=FETCH_TIMEOUT_S,
        validators=last_response(before),
    )
    if before and (fetched is None or hash_of(fetched) == before.file_hash):
        raise DuplicateDocument(before.pk)
    assert fetched is not None  # noqa: S101  (only a known URL is unmodified)
    return store_fetched(
        fetched, url=url, collection=collection, attributes=attributes, options=options
    )


def find_by_url(url: str, *, collection: Collection) -> Document | None:
    """Return the completed document of a URL, if there is one."""
    rows = Document.objects.filter(
        collection=collection, source_uri=url, status=Document.Status.COMPLETED
    )
    return rows.first()


def store_fetched(
    fetched: FetchResult,
    *,
    url: str,
    collection: Collection,
    attributes: Attributes,
    options: IngestOptions | None = None,
) -> StoredDocument:
    """Ingest the response of a URL and replace its document.

    Raises:
        PkbError: As ``ingest_submission``.
    """
    # The file name of a web page says nothing about its type.
    name = "" if is_page(fetched) else unquote(PurePosixPath(urlsplit(fetched.url).path).name)
    attributes = replace(
        attributes,
        source_uri=url,
        file_hash=hash_of(fetched),
        metadata={**attributes.metadata, FETCHED: fetch_metadata(fetched)},
    )
    file = SubmittedFile(fetched.content, name, fetched.media_type)
    return ingest_submission(
        Submission(file, attributes, options or IngestOptions()), collection=collection
    )


def is_page(fetched: FetchResult) -> bool:
    """Return whether the server declares HTML."""
    return fetched.media_type.lower().startswith(("text/html", "application/xhtml"))


def hash_of(fetched: FetchResult) -> str:
    """Return the SHA-256 of the content, to detect changes that the server does not report."""
    return sha256(fetched.content).hexdigest()


def fetch_metadata(fetched: FetchResult) -> dict[str, str]:
    """Return the validators and the final URL, to store in the metadata."""
    return {
        "etag": fetched.etag, "last_modified": fetched.last_modified, "url": fetched.url,
    }  # fmt: skip


def last_response(before: Document | None) -> Mapping[str, str]:
    """Return what was stored of the last response; clients may have written the metadata."""
    metadata = before.metadata.get(FETCHED) if before else None
    return {name: str(metadata[name]) for name in metadata} if isinstance(metadata, dict) else {}
