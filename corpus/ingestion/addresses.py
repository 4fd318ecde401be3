"""Bring in what an address names, and what has become of it since."""

from dataclasses import replace
from hashlib import sha256
from pathlib import PurePosixPath
from urllib.parse import unquote, urldefrag, urlsplit

from django.conf import settings

from corpus.errors import DuplicateDocument
from corpus.ingestion.attributes import Attributes
from corpus.ingestion.ingest import ingest_file
from corpus.ingestion.store import StoredDocument
from corpus.models import Collection, Document
from corpus.public_web import fetch

# What is kept of the last time, among the document's metadata.
FETCHED = "fetched"


def ingest_address(
    url: str, *, collection: Collection, attributes: Attributes, place: bool = False
) -> StoredDocument:
    """Bring a page or file of the internet in, in place of the version its address had.

    Where its server says that it has not changed, it is not even sent again; where its bytes are
    those of last time, it is not loaded.

    Args:
        place: As ``ingest_text``.

    Raises:
        DuplicateDocument: It is in already, and has not changed.
        FetchingOff, NotFetched: As ``corpus.public_web.fetch``.
        PkbError: It cannot be taken in, as ``ingest_file``.
    """
    url, _ = urldefrag(url.strip())
    known = Document.objects.filter(
        collection=collection, source_uri=url, status=Document.Status.COMPLETED
    )
    before = known.defer("raw_text", "outline").first()
    fetched = fetch(url, max_bytes=settings.PKB_MAX_FILE_BYTES, **_validators(before))
    file_hash = sha256(fetched.content).hexdigest() if fetched else ""
    if before and (fetched is None or file_hash == before.file_hash):
        raise DuplicateDocument(before.pk)
    assert fetched is not None  # noqa: S101  (only what is known has not changed)
    stated = {"etag": fetched.etag, "last_modified": fetched.last_modified, "url": fetched.url}
    is_page = fetched.media_type.lower().startswith(("text/html", "application/xhtml"))
    return ingest_file(
        fetched.content,
        # The name of a page says how it is made, not what it is.
        filename="" if is_page else unquote(PurePosixPath(urlsplit(fetched.url).path).name),
        media_type=fetched.media_type,
        collection=collection,
        place=place,
        attributes=replace(
            attributes,
            source_uri=url,
            file_hash=file_hash,
            metadata={**attributes.metadata, FETCHED: stated},
        ),
    )


def _validators(before: Document | None) -> dict[str, str]:
    """Return by what the server tells whether it has changed; metadata may be anybody's."""
    kept = before.metadata.get(FETCHED) if before else None
    stated = kept if isinstance(kept, dict) else {}
    return {name: str(stated.get(name, "")) for name in ("etag", "last_modified")}
