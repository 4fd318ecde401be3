"""Tags: their one spelling, and putting them on documents and chunks."""

from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Q

from corpus.characters import normalize
from corpus.errors import DocumentNotFound, InvalidInput, NotFound
from corpus.models import ChunkTag, Document, Tag
from corpus.storable import is_storable

MAX_TAG_CHARS = 64

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
        InvalidInput: One has more than 64 characters, or one that cannot be stored.
    """
    spelled = [normalize("NFC", " ".join(name.split()).lower()) for name in names]
    long = next((name for name in spelled if len(name) > MAX_TAG_CHARS), None)
    if long is not None:
        raise InvalidInput(f"The tag {long[:20]!r}... has more than {MAX_TAG_CHARS} characters.")
    if not all(map(is_storable, spelled)):
        raise InvalidInput("A tag holds a character that cannot be stored.")
    return tuple(dict.fromkeys(name for name in spelled if name))


def change_tags(document_id: UUID, names: Sequence[str]) -> None:
    """Put exactly these tags, already normalized, on a stored document and its chunks.

    Raises:
        DocumentNotFound: There is none of that id.
    """
    with transaction.atomic():
        set_tags(_locked(document_id), names)


def _locked(document_id: UUID) -> Document:
    rows = Document.objects.select_for_update(no_key=True).only("id")
    document = rows.filter(pk=document_id).first()
    if document is None:
        raise DocumentNotFound(f"There is no document {document_id}.")
    return document


def set_tags(document: Document, names: Sequence[str]) -> None:
    """Put exactly these tags on the document and on all its chunks."""
    tags = _keep_tags(names)
    document.tags.set(tags)
    ChunkTag.objects.filter(chunk__document=document).exclude(tag__in=tags).delete()
    _put_on_chunks([document.pk], tags)


@transaction.atomic
def add_tags(document_ids: Iterable[UUID], names: Sequence[str]) -> int:
    """Put tags, already normalized, on documents and their chunks; what they carry stays.

    Returns:
        Documents that are there.
    """
    keys = _lock_documents(Q(pk__in=list(document_ids)))
    tags = _keep_tags(names)
    links = [_Link(document_id=key, tag_id=tag.pk) for key in keys for tag in tags]
    _Link.objects.bulk_create(links, ignore_conflicts=True, batch_size=5_000)
    _put_on_chunks(keys, tags)
    return len(keys)


@transaction.atomic
def remove_tags(document_ids: Iterable[UUID], names: Sequence[str]) -> int:
    """Take tags off documents and their chunks.

    Returns:
        Documents that carried one of them.
    """
    carrying = Q(pk__in=list(document_ids), tags__name__in=names)
    keys = _lock_documents(carrying)
    _Link.objects.filter(document__in=keys, tag__name__in=names).delete()
    ChunkTag.objects.filter(chunk__document__in=keys, tag__name__in=names).delete()
    return len(keys)


@transaction.atomic
def merge_tags(tag_ids: Iterable[int], *, into: str) -> int:
    """Put one tag, already normalized, in the place of others, which are gone then.

    Returns:
        Tags that are gone.

    Raises:
        NotFound: Somebody deleted the one tag meanwhile.
    """
    merged = list(tag_ids)
    # Documents before tags, as who stores a document does: neither then waits for the other.
    _lock_documents(Q(tags__in=merged))
    Tag.objects.bulk_create([Tag(name=into)], ignore_conflicts=True)
    found = Tag.objects.filter(Q(pk__in=merged) | Q(name=into))
    keys = {tag.name: tag.pk for tag in found.order_by("pk").select_for_update()}
    target = keys.pop(into, None)
    if target is None:
        raise NotFound(f"There is no tag {into!r}.")
    both: dict[str, Any] = {"old": list(keys.values()), "new": target}
    with connection.cursor() as cursor:
        for statement in (_RELINK_DOCUMENTS, _RELINK_CHUNKS):
            cursor.execute(statement, both)
    Tag.objects.filter(pk__in=keys.values()).delete()
    return len(keys)


def _lock_documents(condition: Q) -> list[UUID]:
    """Keep documents and their chunks as they are until the transaction ends."""
    chosen = Document.objects.filter(condition).values("pk")
    rows = Document.objects.filter(pk__in=chosen).order_by("pk").select_for_update(no_key=True)
    return list(rows.values_list("pk", flat=True))


def _keep_tags(names: Sequence[str]) -> list[Tag]:
    """Return tags, made where they lack, that nobody deletes until the transaction ends."""
    while names:
        Tag.objects.bulk_create([Tag(name=name) for name in sorted(names)], ignore_conflicts=True)
        tags = list(Tag.objects.filter(name__in=names))
        if len(Tag.objects.keep_in_place([str(tag.pk) for tag in tags])) == len(set(names)):
            return tags
    return []


def _put_on_chunks(document_ids: Iterable[UUID], tags: Iterable[Tag]) -> None:
    keys: dict[str, Any] = {"documents": list(document_ids), "tags": [tag.pk for tag in tags]}
    with connection.cursor() as cursor:
        cursor.execute(_LINK_CHUNKS, keys)
