"""Write a version of a document with its chunks, vectors and tags in one transaction."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from time import time

from django.db import transaction
from django.dispatch import Signal
from django.utils import timezone

from corpus.errors import CollectionNotFound, DuplicateDocument
from corpus.ingestion.chunking import NewChunk
from corpus.ingestion.normal_form import Outline
from corpus.ingestion.submission import ATTRIBUTE_NAMES, Attributes
from corpus.ingestion.uploaded_files import delete_uploads_on_commit, path_of
from corpus.ingestion.vectors import Encoded, queue_completion
from corpus.lexical import character_ngrams, drop_unused_words, read_words
from corpus.models import Chunk, Collection, Document, DocumentContent, Embedding
from corpus.postgres import fetch_prepared
from corpus.queue import enqueue_token_vectors
from corpus.rules import active_rules
from corpus.rules.matching import matching_rules
from corpus.tags import put_tags, set_tags
from corpus.telemetry import Step, span
from corpus.token_vectors import background_embedder
from corpus.user_quotas import check_quota
from corpus.webhooks import WebhookEvent, tell

# Sent with ``document``, whose version is still stored, and ``text``, that of the next one.
document_replaced = Signal()

# Chunks get their time when they are created, some time before the commit.
STORED_WITHIN_S = 600
_SAME_CONTENT = """
SELECT id FROM corpus_document
 WHERE collection_id = %s AND content_sha256 = %s AND content_sha256 <> ''
   AND id IS DISTINCT FROM %s
 LIMIT 1
"""
# Columns of a chunk that may change while its text and context stay.
_POSITION_FIELDS = ["ordinal", "start_char", "end_char", "heading_path", "heading_level", "page"]


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
    for (key,) in fetch_prepared(_SAME_CONTENT, [collection.pk, content_sha256, replaced]):
        raise DuplicateDocument(key)


def reject_duplicate_uri(collection: Collection, source_uri: str) -> None:
    """Raise DuplicateDocument if the collection has a document with this URI."""
    same = Document.objects.filter(collection=collection, source_uri=source_uri)
    for key in same.values_list("pk", flat=True)[:1] if source_uri else ():
        raise DuplicateDocument(key)


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


def tags_by_rules(document: Document) -> list[str]:
    """Return the tags of the rules that match a stored document."""
    return [name for rule in matching_rules(document, active_rules()) for name in rule.tags]


@dataclass(frozen=True, slots=True)
class DocumentWriter:
    """Writes a version of a document, and replaces the one before it.

    Attributes:
        replacing: The document to replace; it moves to ``collection`` if it is in another one.
            None: the one with the same ``source_uri``, if any.
        apply_rules: Add the tags of matching rules.
    """

    version: Version
    attributes: Attributes
    collection: Collection
    encoded: Encoded
    replacing: Document | None = None
    apply_rules: bool = True

    @transaction.atomic
    def write(self) -> StoredDocument:
        """Write document, chunks, vectors and tags.

        An unchanged chunk of this collection keeps its id and vectors. If chunks lack a vector, or
        the collection's model has changed meanwhile, the document is stored as ``processing``, and
        a job adds the vectors.

        Raises:
            DuplicateDocument: The collection has this content in another document, or in the one
                with the URI.
            CollectionNotFound: It was deleted in the meantime.
            NoRoomLeft: Its owner has reached a quota.
        """
        model = Collection.objects.lock_model(self.collection.pk)
        if model is None:
            raise CollectionNotFound(f"The collection {self.collection.name!r} was deleted.")
        existing = self._lock_replaced()
        check_quota(
            self.collection,
            size_bytes=self._size_bytes,
            source_uri=self.attributes.source_uri,
            replacing=existing,
        )
        former_sha256 = existing.content_sha256 if existing else ""
        is_new = not former_sha256
        is_replaced = former_sha256 not in {"", self.version.content_sha256}
        if is_replaced:
            document_replaced.send(Document, document=existing, text=self.version.text)
        embedded_count = 0
        # If the collection's model has changed meanwhile, these vectors do not count.
        if self.encoded.model == model:
            embedded_count = sum(
                chunk.input_sha256 in self.encoded.vectors for chunk in self.version.chunks
            )
        is_complete = embedded_count == len(self.version.chunks)
        with span(Step.WRITE_DOCUMENT):
            document = existing or Document(collection=self.collection)
            self._write_document(document, is_complete=is_complete)
        with span(Step.WRITE_CHUNKS):
            chunks, unused_words = self._write_chunks(document, is_replaced=existing is not None)
        with span(Step.WRITE_EMBEDDINGS):
            vectors = self.encoded.vectors
            rows = [
                Embedding(
                    chunk=row,
                    collection_id=row.collection_id,
                    model=self.encoded.model,
                    dimension=len(vectors[chunk.input_sha256]),
                    input_sha256=chunk.input_sha256,
                    vector=vectors[chunk.input_sha256],
                )
                for row, chunk in zip(chunks, self.version.chunks, strict=True)
                if chunk.input_sha256 in vectors
            ]
            # Unchanged chunks have their vectors already.
            Embedding.objects.bulk_create(rows, ignore_conflicts=True, batch_size=500)
        with span(Step.WRITE_TAGS):
            by_rules = tags_by_rules(document) if self.apply_rules else []
            tags = tuple(dict.fromkeys((*self.attributes.tags, *by_rules)))
            if existing is not None:
                set_tags(document, tags)
            else:
                put_tags([document.pk], tags, collection_id=document.collection_id)
        drop_unused_words(unused_words, collection_id=self.collection.pk)
        if background_embedder() is not None:
            # Last, since another first ingest into the collection waits for this commit.
            enqueue_token_vectors(self.collection.pk, since=time() - STORED_WITHIN_S)
        if not is_complete:
            queue_completion(str(document.pk), collection=self.collection)
        if is_replaced:
            tell(WebhookEvent.DOCUMENT_REPLACED, [document])
        elif is_new and is_complete:
            tell(WebhookEvent.DOCUMENT_READY, [document])
        return StoredDocument(
            document_id=str(document.pk),
            chunk_ids=tuple(str(chunk.pk) for chunk in chunks),
            tags=tags,
            collection=self.collection.qualified_name,
            is_new=is_new,
            embedded_count=embedded_count,
            encoded_count=len(self.encoded.fresh),
        )

    def _lock_replaced(self) -> Document | None:
        """Lock the URI and content; return the document that the version replaces, if any."""
        source_uri, content_sha256 = self.attributes.source_uri, self.version.content_sha256
        lock_names(self.collection, source_uri, content_sha256)
        existing = self.replacing
        if existing is None and source_uri:
            rows = Document.objects.select_for_update(no_key=True)
            existing = rows.filter(collection=self.collection, source_uri=source_uri).first()
        reject_duplicate(self.collection, content_sha256, replacing=self.replacing)
        if existing is not None and existing.collection_id != self.collection.pk:
            reject_duplicate_uri(self.collection, existing.source_uri)
            chunks = existing.chunks.all()
            words = read_words(chunks.values_list("pk", flat=True))
            chunks.remove()
            drop_unused_words(words, collection_id=existing.collection_id)
            existing.collection = self.collection
        return existing

    @property
    def _size_bytes(self) -> int:
        return self.attributes.size_bytes or len(self.version.text.encode())

    def _write_document(self, document: Document, *, is_complete: bool) -> None:
        if document.kept_file and document.kept_file != self.attributes.kept_file:
            # Delete the upload of the replaced version.
            delete_uploads_on_commit(path_of(document.kept_file))
        for name in ATTRIBUTE_NAMES - {"tags"}:
            setattr(document, name, getattr(self.attributes, name))
        text = self.version.text
        document.metadata = dict(self.attributes.metadata)
        document.content_sha256 = self.version.content_sha256
        document.word_count = len(text.split())
        document.char_count = len(text)
        document.size_bytes = self._size_bytes
        document.chunk_count = len(self.version.chunks)
        document.status = Document.Status.COMPLETED if is_complete else Document.Status.PROCESSING
        document.error = ""
        document.ingested_at = timezone.now()
        is_new = document._state.adding
        document.save()
        outline = self.version.outline.to_json()
        content = DocumentContent(document=document, text=text, outline=outline)
        content.save(force_insert=is_new)

    def _write_chunks(
        self, document: Document, *, is_replaced: bool
    ) -> tuple[list[Chunk], list[str]]:
        """Return the stored chunks in order, and the words of the deleted ones.

        Rows of unchanged chunks are updated.
        """
        unchanged: defaultdict[tuple[str, str], list[Chunk]] = defaultdict(list)
        # In reverse, since they are popped from the end: repeated texts stay in order.
        rows_before = Chunk.objects.filter(document=document).order_by("-ordinal")
        for row in rows_before if is_replaced else ():
            unchanged[row.chunk_sha256, row.context].append(row)
        stored: list[Chunk] = []
        language = self.collection.language
        for ordinal, chunk in enumerate(self.version.chunks):
            rows = unchanged[chunk.chunk_sha256, chunk.context]
            row = (
                rows.pop()
                if rows
                else Chunk(document=document, collection=self.collection, language=language)
            )
            row.ordinal = ordinal
            row.start_char, row.end_char = chunk.span.start, chunk.span.end
            row.text, row.context = chunk.text, chunk.context
            row.ngrams = character_ngrams(f"{chunk.context} {chunk.text}")
            row.chunk_sha256, row.token_count = chunk.chunk_sha256, chunk.token_count
            row.heading_path = list(chunk.span.heading_path)
            row.heading_level, row.page = chunk.span.heading_level, chunk.span.page
            stored.append(row)
        words: list[str] = []
        if outdated := [row.pk for rows in unchanged.values() for row in rows]:
            words = read_words(outdated)
            Chunk.objects.filter(pk__in=outdated).remove()
        moved = [row for row in stored if not row._state.adding]
        Chunk.objects.bulk_update(moved, _POSITION_FIELDS, batch_size=500)
        fresh = [row for row in stored if row._state.adding]
        Chunk.objects.bulk_create(fresh, batch_size=500)
        return stored, words
