"""Create tombstones of deleted texts."""

from collections.abc import Iterator, Sequence
from uuid import UUID

from django.conf import settings

from corpus.erasure.shingles import ShingleHasher
from corpus.models import Document, Tombstone


def get_hasher() -> ShingleHasher:
    """Return the hasher with the secret key."""
    return ShingleHasher(settings.SECRET_KEY)


def create_tombstones(documents: Sequence[UUID]) -> None:
    """Create a tombstone of each document's text; none if ``PKB_TOMBSTONE_DAYS`` is 0."""
    if settings.PKB_TOMBSTONE_DAYS:
        Tombstone.objects.bulk_create(_tombstones(documents))


def _tombstones(documents: Sequence[UUID]) -> Iterator[Tombstone]:
    texts = Document.objects.stored().filter(pk__in=documents)
    hasher = get_hasher()
    for text, content_sha256 in texts.values_list("raw_text", "content_sha256").iterator(1):
        hashes, width = hasher.hash_text(text)
        seal = hasher.digest(content_sha256)
        yield Tombstone(content_sha256=content_sha256, seal=seal, hashes=hashes, width=width)
