"""Tags: their one spelling, and putting them on documents and chunks."""

from collections.abc import Iterable, Sequence
from uuid import UUID

from django.db import transaction

from corpus.characters import normalize
from corpus.errors import DocumentNotFound, InvalidInput
from corpus.models import Chunk, ChunkTag, Document, Tag
from corpus.storable import is_storable

MAX_TAG_CHARS = 64


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
        rows = Document.objects.select_for_update(no_key=True).only("id")
        document = rows.filter(pk=document_id).first()
        if document is None:
            raise DocumentNotFound(f"There is no document {document_id}.")
        set_tags(document, names)


def set_tags(document: Document, names: Sequence[str]) -> None:
    """Put exactly these tags on the document and on all its chunks."""
    Tag.objects.bulk_create([Tag(name=name) for name in sorted(names)], ignore_conflicts=True)
    tags = list(Tag.objects.filter(name__in=names))
    document.tags.set(tags)
    on_chunks = ChunkTag.objects.filter(chunk__document=document)
    on_chunks.exclude(tag__in=tags).delete()
    chunk_ids = Chunk.objects.filter(document=document).values_list("pk", flat=True)
    ChunkTag.objects.bulk_create(
        [ChunkTag(chunk_id=chunk_id, tag=tag) for chunk_id in chunk_ids for tag in tags],
        ignore_conflicts=True,
        batch_size=5_000,
    )
