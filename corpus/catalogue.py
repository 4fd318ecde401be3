"""Create, update, delete and count collections, documents and tags."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple
from uuid import UUID

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import IntegrityError, transaction
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
from corpus.models import DEFAULT_COLLECTION, Collection, Document, Rule, Tag
from corpus.models.base import check_writable
from corpus.models.collection import ANY_TAG
from corpus.postgres import execute
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
    """Create an empty collection and its model's index.

    Args:
        chunking: Fields of ``ChunkSettings``; others get their defaults.
        language: Language for stemming, one of ``LANGUAGES``.

    Raises:
        CollectionExists: The name is taken.
        InvalidInput: The model is not configured, its vectors have another dimension, or the
            chunk settings contradict each other.
        NotAllowed: The key is restricted to other collections.
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
    resolved = resolve_chunking(chunking or {})
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
                **resolved.as_fields(),
            )
    except IntegrityError as exc:
        raise CollectionExists(f"A collection {name!r} already exists.") from exc


def get_or_create_collection(name: str) -> Collection:
    """Return the collection to add documents to, as ``get_writable``.

    Create the collection ``default`` for a user who sees none.
    """
    try:
        return Collection.objects.get_writable(name)
    except CollectionNotFound:
        if name != DEFAULT_COLLECTION:
            raise
    with suppress(CollectionExists):
        return create_collection(DEFAULT_COLLECTION)
    return Collection.objects.get_writable(name)


def change_collection(
    name: str,
    *,
    new_name: str | None = None,
    description: str | None = None,
    chunking: Mapping[str, Any] | None = None,
) -> Collection:
    """Change the given settings; documents are chunked by them when they are next ingested.

    Rules that name a collection without an owner follow it to its new name.

    Raises:
        CollectionExists: The new name is taken.
        CollectionNotFound: There is no collection with this name.
        CollectionProtected: It is the default collection, which keeps its name.
        InvalidInput: The chunk settings contradict each other.
    """
    collection = Collection.objects.get_named(name)
    check_writable(Collection.objects.filter(pk=collection.pk))
    if new_name is not None and new_name != collection.name:
        _rename(collection, new_name)
    if description is not None:
        collection.description = description
    resolved = resolve_chunking(chunking or {}, current=ChunkSettings.of(collection))
    for field, value in resolved.as_fields().items():
        setattr(collection, field, value)
    collection.save()
    return collection


@transaction.atomic
def _rename(collection: Collection, name: str) -> None:
    is_ownerless, old_name = collection.owner_id is None, collection.name
    if is_ownerless and old_name == DEFAULT_COLLECTION:
        raise CollectionProtected(f"The collection {old_name!r} cannot be renamed.")
    collection.name = name
    try:
        with transaction.atomic():
            collection.save(update_fields=["name"])
    except IntegrityError as exc:
        raise CollectionExists(f"A collection {name!r} already exists.") from exc
    if is_ownerless:
        # Administrators own both; whoever acts may be restricted to some collections.
        with acting_as(SYSTEM):
            Rule.objects.filter(collection=old_name).update(collection=name)


def delete_collection(name: str, *, if_empty: bool = False) -> None:
    """Delete a collection with all its documents.

    Raises:
        CollectionNotFound: There is no collection with this name.
        CollectionProtected: It is the default collection.
        CollectionNotEmpty: It has documents, and ``if_empty`` is set.
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
        # As SYSTEM, to delete other users' answers as well.
        with acting_as(SYSTEM):
            collection.delete()


def ensure_default_collection(**kwargs: object) -> None:
    """Create the collection ``default`` unless it exists; called after every migration.

    Raises:
        ImproperlyConfigured: ``EMBEDDING_DIM`` is not the dimension of ``EMBEDDING_MODEL``.
    """
    if Collection.objects.filter(name=DEFAULT_COLLECTION, owner=None).exists():
        return
    try:
        create_collection(DEFAULT_COLLECTION, dimension=settings.PKB_EMBEDDING_DIM)
    except InvalidInput as exc:
        raise ImproperlyConfigured(str(exc)) from exc


# Both are read from maintained counts; the empty lexeme counts all chunks.
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
    """Return the number of documents with a text, and of chunks."""
    (totals,) = execute(_TOTALS)
    return Totals(*totals)


@transaction.atomic
def delete_document(document_id: UUID) -> None:
    """Delete a document with all stored text and its upload (docs/guides/delete.md).

    Raises:
        DocumentNotFound: There is no document with this id.
    """
    rows = Document.objects.select_for_update().only("id", "file_path")
    document = rows.filter(pk=document_id).first()
    if document is None:
        raise DocumentNotFound(f"There is no document {document_id}.")
    delete_uploads_on_commit(document.file_path)
    document.delete()


@transaction.atomic
def delete_tag(name: str) -> None:
    """Delete a tag in all collections that the principal may change.

    Raises:
        NotFound: There is no such tag.
        NotAllowed: The principal may change none of them.
    """
    tags = Tag.objects.filter(name=name)
    if not tags.exists():
        raise NotFound(f"There is no tag {name!r}.")
    writable = tags.filter(collection__in=Collection.objects.writable())
    keys = list(
        writable.select_for_update(of=("self",)).order_by("pk").values_list("pk", flat=True)
    )
    if not keys:
        raise NotAllowed(f"You cannot change the documents with the tag {name!r}.")
    Tag.objects.filter(pk__in=keys).delete()
