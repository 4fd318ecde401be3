"""Store a document with its chunks, vectors and tags in one transaction."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from hashlib import sha256
from time import time
from typing import Any, Self

from django.db import transaction
from django.utils import timezone

from corpus.access.principal import SYSTEM, acting_as
from corpus.errors import CollectionNotFound, DuplicateDocument
from corpus.ingestion.chunking import NewChunk
from corpus.ingestion.file_scan import FileContent
from corpus.ingestion.normal_form import Outline, clean_json, clean_line
from corpus.ingestion.uploaded_files import delete_uploads_on_commit, path_of
from corpus.ingestion.vectors import Encoded
from corpus.lexical import character_ngrams, drop_unused_words, read_words
from corpus.loaders.blocks import LoadedDocument
from corpus.loaders.metadata import earliest_datetime
from corpus.models import DEFAULT_COLLECTION, Chunk, Collection, Document, Embedding
from corpus.postgres.prepared import fetch_prepared
from corpus.querysets import ChunkQuerySet
from corpus.queue import enqueue_token_vectors
from corpus.rules import active_rules, matching_rules
from corpus.tags import MAX_TAG_CHARS, normalize_tags, put_tags, set_tags
from corpus.telemetry import Step, span
from corpus.times import is_storable_time
from corpus.token_vectors import background_embedder
from corpus.user_quotas import check_quota

# The limit of a request.
MAX_FILE_TAGS = 100


@dataclass(frozen=True, slots=True)
class Attributes:
    """Attributes of a document: its tags, and columns of the same names."""

    source_uri: str = ""
    source: str = ""
    title: str = ""
    media_type: str = "text/plain"
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    chapter: str = ""
    section: str = ""
    user_created_at: datetime | None = None
    file_path: str = ""
    file_hash: str = ""
    kept_file: str = ""
    last_modified: datetime | None = None
    settings_sha256: str = ""
    size_bytes: int = 0
    page_count: int = 0

    @classmethod
    def of(cls, document: Document) -> Self:
        """Return the attributes of a stored document."""
        columns = {name: getattr(document, name) for name in ATTRIBUTE_NAMES - {"tags"}}
        return cls(**columns, tags=tuple(document.tags.values_list("name", flat=True)))

    @classmethod
    def of_file(cls, file: FileContent, **given: Any) -> Self:
        """Return the given attributes with the path, hash, time, size and includes of a file."""
        stated = {"includes": list(file.includes)} if file.includes else {}
        return cls(
            source_uri=file.path.as_uri(),
            file_path=str(file.path),
            file_hash=file.file_hash,
            last_modified=file.last_modified,
            size_bytes=len(file.content),
            metadata={**stated, **given.pop("metadata", {})},
            **given,
        )

    def filled_from(self, loaded: LoadedDocument, *, media_type: str, size_bytes: int = 0) -> Self:
        """Return the attributes, with empty ones filled from the metadata of a file."""
        page_count = loaded.metadata.get("page_count", 0)
        return replace(
            self,
            media_type=media_type,
            size_bytes=size_bytes or self.size_bytes,
            page_count=page_count if isinstance(page_count, int) else 0,
            title=self.title or clean_attribute(loaded.title, "title"),
            chapter=self.chapter or clean_attribute(loaded.chapter, "chapter"),
            user_created_at=self.user_created_at or _created_at(loaded),
            section=self.section or clean_attribute(loaded.section, "section"),
            tags=normalize_tags((*self.tags, *valid_tags(loaded.tags))),
            metadata={**clean_json(dict(loaded.metadata)), **self.metadata},
        )

    def write_to(self, document: Document) -> None:
        """Set the columns of a document without saving it; tags are stored separately."""
        for name in ATTRIBUTE_NAMES - {"tags"}:
            setattr(document, name, getattr(self, name))
        document.metadata = dict(self.metadata)


ATTRIBUTE_NAMES = frozenset(each.name for each in fields(Attributes))


def _created_at(loaded: LoadedDocument) -> datetime | None:
    """Return the creation time in a file's metadata, in UTC if it has no zone."""
    moment = earliest_datetime(str(loaded.metadata.get("created", "")))
    if moment is None:
        return None
    known = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return known if is_storable_time(known) else None


def clean_attribute(value: str, column: str) -> str:
    """Return a text of a file's metadata, normalized and cut to the length of the column."""
    most = Document._meta.get_field(column).max_length  # type: ignore[union-attr]
    return clean_line(value)[:most].rstrip()


def valid_tags(names: Iterable[str]) -> list[str]:
    """Return the first hundred names, normalized, that are short enough for a tag."""
    cleaned = map(clean_line, names)
    return [name for name in cleaned if len(name) <= MAX_TAG_CHARS][:MAX_FILE_TAGS]


_SAME_CONTENT = """
SELECT id FROM corpus_document
 WHERE collection_id = %s AND content_sha256 = %s AND content_sha256 <> ''
   AND id IS DISTINCT FROM %s
 LIMIT 1
"""
# Chunks get their time when they are created, some time before the commit.
STORED_WITHIN_S = 600


@dataclass(frozen=True, slots=True)
class Version:
    """A normalized text with its outline and chunks."""

    text: str
    outline: Outline
    content_sha256: str
    chunks: Sequence[NewChunk]


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """The result of storing a document.

    Attributes:
        is_new: False if it replaced a version.
        embedded_count: Chunks with a vector; a job of kind ``embed`` adds the rest.
        encoded_count: Texts that the model embedded for it.
    """

    document_id: str
    chunk_ids: tuple[str, ...]
    tags: tuple[str, ...]
    collection: str
    is_new: bool
    embedded_count: int
    encoded_count: int

    @property
    def chunk_count(self) -> int:
        return len(self.chunk_ids)

    @property
    def is_complete(self) -> bool:
        return self.embedded_count == self.chunk_count


def reject_duplicate(
    collection: Collection, content_sha256: str, *, replacing: Document | None = None
) -> None:
    """Raise DuplicateDocument if another document than ``replacing`` has this content."""
    replaced = replacing.pk if replacing else None
    for (found,) in fetch_prepared(_SAME_CONTENT, [collection.pk, content_sha256, replaced]):
        raise DuplicateDocument(found)


def reject_duplicate_uri(collection: Collection, source_uri: str) -> None:
    """Raise DuplicateDocument if the collection has a document with this URI."""
    same = Document.objects.filter(collection=collection, source_uri=source_uri)
    found = same.values_list("pk", flat=True).first() if source_uri else None
    if found is not None:
        raise DuplicateDocument(found)


def check_document_quota(
    version: Version,
    attributes: Attributes,
    *,
    collection: Collection,
    replacing: Document | None = None,
) -> None:
    """Raise NoRoomLeft if the document would exceed a quota of the collection's owner."""
    check_quota(
        collection,
        size_bytes=attributes.size_bytes or len(version.text.encode()),
        source_uri=attributes.source_uri,
        replacing=replacing,
    )


@transaction.atomic(savepoint=False)
def store_document(
    version: Version,
    *,
    collection: Collection,
    attributes: Attributes,
    encoded: Encoded,
    replacing: Document | None = None,
    by_rules: bool = True,
) -> StoredDocument:
    """Store the document; replace ``replacing`` or the document with its ``source_uri``.

    ``replacing`` moves to this collection if it is in another one. An unchanged chunk of this
    collection keeps its id and vectors. If chunks lack a vector, or the collection's model has
    changed meanwhile, the document is stored as ``processing``.

    Args:
        by_rules: Add the tags of matching rules.

    Raises:
        DuplicateDocument: The collection has this content in another document, or in the one
            with the URI.
        CollectionNotFound: It was deleted in the meantime.
        NoRoomLeft: Its owner has reached a quota.
    """
    model_now = Collection.objects.lock_model(collection.pk)
    if model_now is None:
        raise CollectionNotFound(f"The collection {collection.name!r} was deleted.")
    existing = _find_replaced(version, collection, attributes.source_uri, replacing=replacing)
    check_document_quota(version, attributes, collection=collection, replacing=existing)
    is_new = existing is None or not existing.content_sha256
    embedded_count = 0
    # If the collection's model has changed meanwhile, these vectors do not count.
    if encoded.model == model_now:
        embedded_count = sum(chunk.input_sha256 in encoded.vectors for chunk in version.chunks)
    with span(Step.WRITE_DOCUMENT):
        document = existing or Document(collection=collection)
        if document.kept_file and document.kept_file != attributes.kept_file:
            # Delete the upload of the replaced version.
            delete_uploads_on_commit(path_of(document.kept_file))
        attributes.write_to(document)
        _write_version(document, version)
        if embedded_count < len(version.chunks):
            Document.objects.filter(pk=document.pk).update(status=Document.Status.PROCESSING)
    with span(Step.WRITE_CHUNKS):
        stored, words = _write_chunks(document, version.chunks, is_replaced=existing is not None)
    with span(Step.WRITE_EMBEDDINGS):
        _write_embeddings(stored, version.chunks, encoded)
    with span(Step.WRITE_TAGS):
        by_rule = tags_by_rules(document) if by_rules else []
        tags = tuple(dict.fromkeys((*attributes.tags, *by_rule)))
        if existing is not None:
            set_tags(document, tags)
        else:
            put_tags([document.pk], tags, collection_id=document.collection_id)
    drop_unused_words(words, collection_id=collection.pk)
    if background_embedder() is not None:
        # Last, since another first ingest into the collection waits for this commit.
        enqueue_token_vectors(collection.pk, since=time() - STORED_WITHIN_S)
    return StoredDocument(
        document_id=str(document.pk),
        chunk_ids=tuple(str(chunk.pk) for chunk in stored),
        tags=tags,
        collection=collection.qualified_name,
        is_new=is_new,
        embedded_count=embedded_count,
        encoded_count=len(encoded.fresh),
    )


def _find_replaced(
    version: Version, collection: Collection, source_uri: str, *, replacing: Document | None
) -> Document | None:
    """Lock the URI and content, and return the document that the version replaces, if any."""
    lock_names(collection, source_uri, version.content_sha256)
    existing = replacing or _existing(collection, source_uri)
    reject_duplicate(collection, version.content_sha256, replacing=replacing)
    if replacing is not None and replacing.collection_id != collection.pk:
        _detach_from_collection(replacing, collection)
    return existing


def route_by_rules(
    version: Version, collection: Collection, attributes: Attributes
) -> Collection | None:
    """Return the collection that a rule gives to a new document of the default one, if any.

    A new version of a document stays in its collection. Rules match stored documents: store this
    one without vectors, and roll back.
    """
    if collection.name != DEFAULT_COLLECTION:
        return None
    rules = [each for each in active_rules() if each.collection not in {"", DEFAULT_COLLECTION}]
    if not rules:
        return None
    with transaction.atomic():
        known = _existing(collection, attributes.source_uri)
        if known is not None and known.content_sha256:
            return None
        unencoded = Encoded(collection.embedding_model, {}, frozenset())
        stored = store_document(
            version,
            collection=collection,
            attributes=attributes,
            encoded=unencoded,
            by_rules=False,
        )
        held = matching_rules(Document.objects.defer("raw_text").get(pk=stored.document_id), rules)
        transaction.set_rollback(True)
    writable = Collection.objects.writable()
    return next(filter(None, (writable.find(rule.collection) for rule in held)), None)


def tags_by_rules(document: Document) -> list[str]:
    """Return the tags of the rules that match a stored document."""
    return [name for rule in matching_rules(document, active_rules()) for name in rule.tags]


def _detach_from_collection(document: Document, collection: Collection) -> None:
    """Move the document to another collection without saving it; delete its chunks."""
    reject_duplicate_uri(collection, document.source_uri)
    chunks = document.chunks.all()
    words = read_words(chunks.values_list("pk", flat=True))
    _delete_chunks(chunks)
    drop_unused_words(words, collection_id=document.collection_id)
    document.collection = collection


def lock_names(collection: Collection, *names: str) -> None:
    """Serialize writers of the same URI or content until the commit."""
    # In one order, to prevent deadlocks.
    keys = sorted(
        int.from_bytes(sha256(f"{collection.pk}:{name}".encode()).digest()[:8], signed=True)
        for name in names
        if name
    )
    for key in keys:
        fetch_prepared("SELECT pg_advisory_xact_lock(%s)", [key])


def _existing(collection: Collection, source_uri: str) -> Document | None:
    if not source_uri:
        return None
    rows = Document.objects.select_for_update(no_key=True).defer("raw_text")
    return rows.filter(collection=collection, source_uri=source_uri).first()


def _write_version(document: Document, version: Version) -> None:
    document.raw_text = version.text
    document.outline = version.outline.to_json()
    document.content_sha256 = version.content_sha256
    document.word_count = len(version.text.split())
    document.char_count = len(version.text)
    document.size_bytes = document.size_bytes or len(version.text.encode())
    document.chunk_count = len(version.chunks)
    document.status = Document.Status.COMPLETED
    document.error = ""
    document.ingested_at = timezone.now()
    document.save()


def _write_chunks(
    document: Document, chunks: Sequence[NewChunk], *, is_replaced: bool
) -> tuple[list[Chunk], list[str]]:
    """Return the stored chunks in order, and the words of the deleted ones.

    Rows of unchanged chunks are updated.
    """
    collection = document.collection
    kept: defaultdict[tuple[str, str], list[Chunk]] = defaultdict(list)
    # In reverse, since they are popped from the end: repeated texts stay in order.
    rows_of_it = Chunk.objects.filter(document=document).order_by("-ordinal")
    for row in rows_of_it if is_replaced else ():
        kept[row.chunk_sha256, row.context].append(row)
    stored: list[Chunk] = []
    fresh: list[Chunk] = []
    moved: list[Chunk] = []
    for ordinal, chunk in enumerate(chunks):
        rows = kept[chunk.chunk_sha256, chunk.context]
        row = (
            rows.pop()
            if rows
            else Chunk(document=document, collection=collection, language=collection.language)
        )
        (fresh if row._state.adding else moved).append(row)
        _fill_chunk(row, chunk, ordinal)
        stored.append(row)
    words: list[str] = []
    if left := [row.pk for rows in kept.values() for row in rows]:
        words = read_words(left)
        _delete_chunks(Chunk.objects.filter(pk__in=left))
    Chunk.objects.bulk_update(moved, _POSITION_FIELDS, batch_size=500)
    Chunk.objects.bulk_create(fresh, batch_size=500)
    return stored, words


def _delete_chunks(chunks: ChunkQuerySet) -> None:
    """Delete chunks as SYSTEM, so that other users' answers are updated as well."""
    with acting_as(SYSTEM):
        chunks.remove()


# Columns that may change while text and context stay.
_POSITION_FIELDS = ["ordinal", "start_char", "end_char", "heading_path", "heading_level", "page"]


def _fill_chunk(row: Chunk, chunk: NewChunk, ordinal: int) -> None:
    row.ordinal = ordinal
    row.start_char, row.end_char = chunk.span.start, chunk.span.end
    row.text, row.context = chunk.text, chunk.context
    row.ngrams = character_ngrams(f"{chunk.context} {chunk.text}")
    row.chunk_sha256, row.token_count = chunk.chunk_sha256, chunk.token_count
    row.heading_path = list(chunk.span.heading_path)
    row.heading_level, row.page = chunk.span.heading_level, chunk.span.page


def _write_embeddings(
    stored: Sequence[Chunk], chunks: Sequence[NewChunk], encoded: Encoded
) -> None:
    rows = [
        Embedding(
            chunk=row,
            collection_id=row.collection_id,
            model=encoded.model,
            dimension=len(encoded.vectors[chunk.input_sha256]),
            input_sha256=chunk.input_sha256,
            vector=encoded.vectors[chunk.input_sha256],
        )
        for row, chunk in zip(stored, chunks, strict=True)
        if chunk.input_sha256 in encoded.vectors
    ]
    # Unchanged chunks have their vectors already.
    Embedding.objects.bulk_create(rows, ignore_conflicts=True, batch_size=500)
