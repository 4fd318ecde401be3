"""Normalize tags; add them to and remove them from documents and chunks."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Q

from corpus.characters import is_storable, normalize
from corpus.errors import DocumentNotFound, InvalidInput, NotFound
from corpus.models import ChunkTag, Document, Tag
from corpus.models.base import check_writable
from corpus.postgres import execute

MAX_TAG_CHARS = 64
# Of a request, and of a file that names its own.
MAX_TAGS = 100

_Link = Document.tags.through

_LINK_CHUNKS = """
INSERT INTO corpus_chunktag (chunk_id, tag_id)
SELECT c.id, t.id FROM corpus_chunk c, unnest(%(tags)s::bigint[]) AS t(id)
 WHERE c.document_id = ANY(%(documents)s::uuid[])
ON CONFLICT DO NOTHING
"""
_RELINK_DOCUMENTS = """
INSERT INTO corpus_document_tags (document_id, tag_id)
SELECT DISTINCT document_id, %(new)s FROM corpus_document_tags WHERE tag_id = ANY(%(old)s::bigint[])
ON CONFLICT DO NOTHING
"""
_RELINK_CHUNKS = """
INSERT INTO corpus_chunktag (chunk_id, tag_id)
SELECT DISTINCT chunk_id, %(new)s FROM corpus_chunktag WHERE tag_id = ANY(%(old)s::bigint[])
ON CONFLICT DO NOTHING
"""


def normalize_tags(names: Iterable[str]) -> tuple[str, ...]:
    """Return the tags trimmed, in NFC and lower case, each once, empty ones left out.

    Raises:
        InvalidInput: A tag is longer than 64 characters, or cannot be stored.
    """
    tags = [normalize("NFC", " ".join(name.split()).lower()) for name in names]
    for tag in tags:
        if len(tag) > MAX_TAG_CHARS:
            raise InvalidInput(f"The tag {tag[:20]!r}... has more than {MAX_TAG_CHARS} characters.")
    if not all(map(is_storable, tags)):
        raise InvalidInput("A tag contains a character that cannot be stored.")
    return tuple(dict.fromkeys(filter(None, tags)))


@transaction.atomic
def change_tags(document_id: UUID, names: Sequence[str]) -> None:
    """Replace the tags of a stored document and its chunks by these normalized ones.

    Raises:
        DocumentNotFound: There is no document with this id.
    """
    rows = Document.objects.select_for_update(no_key=True).only("id")
    document = rows.filter(pk=document_id).first()
    if document is None:
        raise DocumentNotFound(f"There is no document {document_id}.")
    check_writable(Document.objects.filter(pk=document_id))
    set_tags(document, names)


def set_tags(document: Document, names: Sequence[str]) -> None:
    """Replace the tags of a document and its chunks."""
    tags = _get_or_create_tags(names, collection_id=document.collection_id)
    document.tags.set(tags)
    ChunkTag.objects.filter(chunk__document=document).exclude(tag__in=tags).delete()
    _add_to_chunks([document.pk], tags)


@transaction.atomic
def add_tags(document_ids: Iterable[UUID], names: Sequence[str]) -> int:
    """Add normalized tags to documents and their chunks.

    Returns:
        The number of documents found.
    """
    by_collection = _lock_documents(Q(pk__in=list(document_ids)))
    for collection_id, keys in sorted(by_collection.items()):
        put_tags(keys, names, collection_id=collection_id)
    return sum(map(len, by_collection.values()))


def put_tags(document_ids: Sequence[UUID], names: Sequence[str], *, collection_id: int) -> None:
    """Add tags to locked documents of one collection."""
    if not names:
        return
    tags = _get_or_create_tags(names, collection_id=collection_id)
    links = [_Link(document_id=key, tag_id=tag.pk) for key in document_ids for tag in tags]
    _Link.objects.bulk_create(links, ignore_conflicts=True, batch_size=5_000)
    _add_to_chunks(document_ids, tags)


@transaction.atomic
def remove_tags(document_ids: Iterable[UUID], names: Sequence[str]) -> int:
    """Remove tags from documents and their chunks.

    Returns:
        The number of documents that had one of them.
    """
    carrying = Q(pk__in=list(document_ids), tags__name__in=names)
    keys = list(chain.from_iterable(_lock_documents(carrying).values()))
    _Link.objects.filter(document__in=keys, tag__name__in=names).delete()
    ChunkTag.objects.filter(chunk__document__in=keys, tag__name__in=names).delete()
    return len(keys)


@transaction.atomic
def merge_tags(tag_ids: Iterable[int], *, into: str) -> int:
    """Replace tags by one normalized tag in each collection, and delete them.

    Returns:
        The number of deleted tags.

    Raises:
        NotFound: The new tag was deleted meanwhile.
    """
    merged = list(tag_ids)
    # Lock documents before tags, as storing a document does, to prevent deadlocks.
    _lock_documents(Q(tags__in=merged))
    count = 0
    rows = Tag.objects.filter(pk__in=merged).values_list("collection_id", flat=True)
    for collection_id in sorted(set(rows)):
        own = Tag.objects.filter(collection_id=collection_id)
        _create_tags([into], collection_id=collection_id)
        tags = own.filter(Q(pk__in=merged) | Q(name=into)).order_by("pk").select_for_update()
        keys = {tag.name: tag.pk for tag in tags}
        target = keys.pop(into, None)
        if target is None:
            raise NotFound(f"There is no tag {into!r}.")
        values: dict[str, Any] = {"old": list(keys.values()), "new": target}
        execute(_RELINK_DOCUMENTS, values)
        execute(_RELINK_CHUNKS, values)
        own.filter(pk__in=keys.values()).delete()
        count += len(keys)
    return count


def _lock_documents(condition: Q) -> dict[int, list[UUID]]:
    """Lock documents until the transaction ends; return their ids by collection."""
    matching = Document.objects.filter(condition).values("pk")
    rows = Document.objects.filter(pk__in=matching).order_by("pk").select_for_update(no_key=True)
    by_collection = defaultdict(list)
    for key, collection_id in rows.values_list("pk", "collection_id"):
        by_collection[collection_id].append(key)
    check_writable(Document.objects.filter(pk__in=chain.from_iterable(by_collection.values())))
    return by_collection


def _get_or_create_tags(names: Sequence[str], *, collection_id: int) -> list[Tag]:
    """Return tags, created if missing, and lock them until the transaction ends."""
    while names:
        _create_tags(sorted(names), collection_id=collection_id)
        tags = list(Tag.objects.filter(collection_id=collection_id, name__in=names))
        if len(Tag.objects.lock_for_key_share([str(tag.pk) for tag in tags])) == len(set(names)):
            return tags
    return []


def _create_tags(names: Iterable[str], *, collection_id: int) -> None:
    rows = [Tag(collection_id=collection_id, name=name) for name in names]
    Tag.objects.bulk_create(rows, ignore_conflicts=True)


def _add_to_chunks(document_ids: Iterable[UUID], tags: Iterable[Tag]) -> None:
    execute(_LINK_CHUNKS, {"documents": list(document_ids), "tags": [tag.pk for tag in tags]})
