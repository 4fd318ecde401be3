"""Make, change and remove what is kept: collections, documents, tags; and count it."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple
from uuid import UUID

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import IntegrityError, connection, transaction
from django.db.models import Q

from corpus.access.principal import SYSTEM, acting_as, current_key_collections, current_user_id
from corpus.chunk_settings import ChunkSettings, resolve_chunking
from corpus.embedders import embedders, get_embedder
from corpus.errors import (
    CollectionExists,
    CollectionNotEmpty,
    CollectionNotFound,
    CollectionProtected,
    DocumentNotFound,
    InvalidInput,
    NotAllowed,
    NotFound,
)
from corpus.ingestion.uploaded_files import delete_uploads_on_commit
from corpus.lexical import ENGLISH
from corpus.models import DEFAULT_COLLECTION, Collection, Document, Tag
from corpus.models.document_counts import ANY_TAG
from corpus.querysets import check_writable
from corpus.vector_index import ensure_vector_index


def create_collection(
    name: str,
    *,
    description: str = "",
    embedding_model: str | None = None,
    dimension: int | None = None,
    chunking: Mapping[str, Any] | None = None,
    language: str = ENGLISH,
) -> Collection:
    """Make an empty collection and its model's index.

    Args:
        chunking: Fields of ``ChunkSettings``; what is not given is by default.
        language: By which words are stemmed, one of ``LANGUAGES``.

    Raises:
        CollectionExists: The name is taken.
        InvalidInput: The model is not configured, its vectors have another dimension, or the
            chunk settings do not go together.
        NotAllowed: Who acts does so by a key that is bound to others.
    """
    if current_key_collections() is not None:
        raise NotAllowed(
            "This API key is limited to some collections and cannot create others. Use one of them."
        )
    model = embedding_model or settings.PKB_EMBEDDING_MODEL
    if model not in embedders:
        known = ", ".join(embedders.names)
        detail = f"The model {model!r} is not configured; there are {known}."
        raise InvalidInput(detail, field="embedding_model")
    embedder = get_embedder(model)
    if dimension not in {None, embedder.dimension}:
        raise InvalidInput(
            f"{model} has {embedder.dimension} dimensions, not {dimension}.", field="dimension"
        )
    settled = resolve_chunking(chunking or {})
    if Collection.objects.filter(Q(owner=current_user_id()) | Q(owner=None), name=name).exists():
        raise CollectionExists(f"A collection {name!r} already exists.")
    ensure_vector_index(model=model, dimension=embedder.dimension)
    try:
        with transaction.atomic():
            return Collection.objects.create(
                name=name,
                description=description,
                embedding_model=model,
                dimension=embedder.dimension,
                language=language,
                **settled.as_fields(),
            )
    except IntegrityError as exc:
        raise CollectionExists(f"A collection {name!r} already exists.") from exc


def get_or_create_collection(address: str) -> Collection:
    """Return the collection that documents are to go into, as ``get_writable``.

    Who sees no collection ``default`` gets one of their own.
    """
    try:
        return Collection.objects.get_writable(address)
    except CollectionNotFound:
        if address != DEFAULT_COLLECTION:
            raise
    with suppress(CollectionExists):
        return create_collection(DEFAULT_COLLECTION)
    return Collection.objects.get_writable(address)


def change_collection(
    name: str, *, description: str | None = None, chunking: Mapping[str, Any] | None = None
) -> None:
    """Change what was given; documents are cut anew only when they are ingested again.

    Raises:
        CollectionNotFound: There is none of that name.
        InvalidInput: The chunk settings do not go together.
    """
    collection = Collection.objects.get_named(name)
    check_writable(Collection.objects.filter(pk=collection.pk))
    if description is not None:
        collection.description = description
    settled = resolve_chunking(chunking or {}, current=ChunkSettings.of(collection))
    for name_of_field, value in settled.as_fields().items():
        setattr(collection, name_of_field, value)
    collection.save()


def delete_collection(name: str, *, if_empty: bool = False) -> None:
    """Remove a collection with all it holds.

    Raises:
        CollectionNotFound: There is none of that name.
        CollectionProtected: It is the default one.
        CollectionNotEmpty: It holds documents, and ``if_empty`` was asked for.
    """
    with transaction.atomic():
        collection = Collection.objects.select_for_update(of=("self",)).get_named(name)
        if collection.name == DEFAULT_COLLECTION and collection.owner_id is None:
            raise CollectionProtected(f"The collection {name!r} cannot be deleted.")
        if if_empty and collection.documents.exists():
            raise CollectionNotEmpty(
                f"The collection {name!r} still contains documents. Delete them first."
            )
        check_writable(Collection.objects.filter(pk=collection.pk))
        # With what others have asked it.
        with acting_as(SYSTEM):
            collection.delete()


def ensure_default_collection(**kwargs: object) -> None:
    """Make the collection ``default`` unless it is there; runs after every migration.

    Raises:
        ImproperlyConfigured: ``EMBEDDING_DIM`` is not the dimension of ``EMBEDDING_MODEL``.
    """
    if Collection.objects.filter(name=DEFAULT_COLLECTION, owner=None).exists():
        return
    try:
        create_collection(DEFAULT_COLLECTION, dimension=settings.PKB_EMBEDDING_DIM)
    except InvalidInput as exc:
        raise ImproperlyConfigured(str(exc)) from exc


# Neither is counted: both are read from counts that are kept, of the empty lexeme every chunk's.
_TOTALS = f"""
SELECT (SELECT coalesce(sum(d.document_count), 0)::bigint
          FROM corpus_collection c
          JOIN corpus_documentcount d ON d.collection_id = c.id AND d.tag_id = {ANY_TAG}),
       (SELECT coalesce(sum(t.chunk_count), 0)::bigint
          FROM corpus_collection c
          JOIN corpus_termcount t ON t.collection_id = c.id AND t.lexeme = '')
"""  # noqa: S608


class Totals(NamedTuple):
    """Counts over all collections."""

    document_count: int
    chunk_count: int


def count_stored() -> Totals:
    """Count the documents that have a text, and the chunks."""
    with connection.cursor() as cursor:
        cursor.execute(_TOTALS)
        return Totals(*cursor.fetchone())


@transaction.atomic
def delete_document(document_id: UUID) -> None:
    """Remove a document and every word of it that is stored (docs/guides/delete.md).

    A file that was uploaded for it goes too.

    Raises:
        DocumentNotFound: There is none of that id.
    """
    rows = Document.objects.select_for_update().only("id", "file_path")
    document = rows.filter(pk=document_id).first()
    if document is None:
        raise DocumentNotFound(f"There is no document {document_id}.")
    delete_uploads_on_commit(document.file_path)
    document.delete()


@transaction.atomic
def delete_tag(name: str) -> None:
    """Take a tag off everything that may be changed; documents and chunks stay.

    Raises:
        NotFound: There is no such tag.
    """
    found = Tag.objects.filter(name=name)
    if not found.exists():
        raise NotFound(f"There is no tag {name!r}.")
    writable = found.filter(collection__in=Collection.objects.writable())
    keys = list(
        writable.select_for_update(of=("self",)).order_by("pk").values_list("pk", flat=True)
    )
    if not keys:
        raise NotAllowed(f"You cannot change the documents with the tag {name!r}.")
    Tag.objects.filter(pk__in=keys).delete()
