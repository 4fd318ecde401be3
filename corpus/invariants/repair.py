"""Repair what can be derived from the stored texts, each in its own transaction.

Nothing is embedded here: a job adds missing vectors, as after an ingest whose embedder failed. Each
repair returns what it did, and changes nothing if nothing is wrong.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from typing import Any, NamedTuple
from uuid import UUID

from django.db import DatabaseError, transaction
from django.db.models import Model

from corpus.errors import PkbError
from corpus.ingestion.chunking import cut_chunks
from corpus.ingestion.document_writer import DocumentWriter, Version, lock_names
from corpus.ingestion.normal_form import Outline
from corpus.ingestion.submission import Attributes
from corpus.ingestion.vectors import Encoded, queue_completion
from corpus.invariants.batches import VECTORS
from corpus.invariants.count_checks import DOCUMENT_DIFFERENCES, UNUSED_WORDS, WORD_DIFFERENCES
from corpus.invariants.violations import Violation
from corpus.lexical import character_ngrams, drop_unused_words, read_words
from corpus.models import (
    Chunk,
    Collection,
    Document,
    DocumentContent,
    DocumentCount,
    Embedding,
    Job,
    TokenVectors,
)
from corpus.postgres import execute
from corpus.queue import enqueue_token_vectors
from corpus.tags import set_tags
from corpus.token_vectors import background_embedder
from corpus.vector_index import ensure_vector_index

_DROP_VECTORS = f"""
DELETE FROM corpus_embedding WHERE id IN (
  SELECT e.id FROM corpus_embedding e JOIN corpus_chunk c ON c.id = e.chunk_id
    JOIN corpus_collection k ON k.id = c.collection_id
   WHERE c.document_id = %s AND ({" OR ".join(f"({each})" for each in VECTORS.broken.values())}
      OR e.input_sha256 <> encode(sha256(convert_to(CASE c.context WHEN '' THEN ''
         ELSE c.context || chr(10) END || c.text, 'UTF8')), 'hex')))
"""  # noqa: S608
# The statement adds the difference: rows that are appended meanwhile count on both sides.
_COUNT_WORDS = f"""
INSERT INTO corpus_termcount (collection_id, lexeme, chunk_count, token_count)
SELECT %(collection)s, lexeme, chunks, tokens FROM ({WORD_DIFFERENCES}) lacking
"""  # noqa: S608
_COUNT_DOCUMENTS = f"""
INSERT INTO corpus_documentcount (collection_id, tag_id, document_count, chunk_count)
{DOCUMENT_DIFFERENCES}
"""
_COUNT_ITEMS = """
UPDATE corpus_job j SET (total, done, failed) = (
  SELECT count(*), count(*) FILTER (WHERE status = 'done'),
         count(*) FILTER (WHERE status IN ('failed', 'quarantined'))
    FROM corpus_jobitem i WHERE i.job_id = j.id) WHERE j.id = %s
"""
_DROP_ORPHANS = """
DELETE FROM {table} WHERE collection_id NOT IN (SELECT id FROM corpus_collection)
"""


@dataclass(frozen=True, slots=True)
class Repaired:
    """The result of a repair.

    Attributes:
        done: What was done; None if the violation could not be repaired.
        reason: Why not.
    """

    violation: Violation
    done: str | None
    reason: str = ""


class _Repair(NamedTuple):
    """The repair of an invariant.

    Attributes:
        act: Called once for each subject; returns what it did.
        subject_of: Returns what to repair for a violation's key; None if it does not exist.
    """

    act: Callable[[Any], str]
    subject_of: Callable[[str], Any]


def repair(violations: Sequence[Violation]) -> Iterator[Repaired]:
    """Repair violations and yield the result of each; call it outside of a snapshot.

    After an interruption, the next run finds the rest.
    """
    repairable = [each for each in violations if each.invariant in REPAIRS]
    # Before the first repair, which may replace the chunks of other violations.
    subjects = {each: REPAIRS[each.invariant].subject_of(each.key) for each in repairable}
    order = list(REPAIRS)
    results: dict[tuple[Callable[[Any], str], Any], tuple[str | None, str]] = {}
    for violation in sorted(repairable, key=lambda each: order.index(each.invariant)):
        job = REPAIRS[violation.invariant].act, subjects[violation]
        if job not in results:
            act, subject = job
            try:
                results[job] = ("it is gone" if subject is None else act(subject)), ""
            except (PkbError, DatabaseError) as exc:
                results[job] = None, str(exc) or getattr(exc, "title", "")
        yield Repaired(violation, *results[job])
    for violation in violations:
        if violation.invariant not in REPAIRS:
            yield Repaired(violation, None, "It cannot be made from the stored texts.")


class CannotRepair(PkbError):
    """The source of the repair is missing or is being changed."""


def _version_of(document: Document) -> tuple[str, str, str]:
    """Return what the chunks of a document are made of."""
    return document.content_sha256, document.title, document.file_words


def rechunk_document(document_id: UUID) -> str:
    """Chunk a document's text again; correct chunks keep their ids and vectors."""
    rows = DocumentContent.objects.select_related("document__collection")
    content = rows.filter(pk=document_id).first()
    if content is None:
        raise CannotRepair("There is no text of it.")
    document = content.document
    if sha256(content.text.encode()).hexdigest() != document.content_sha256:
        raise CannotRepair("Its text is not the one that was stored: take it in again.")
    outline = Outline.from_json(content.outline)
    chunks = cut_chunks(
        content.text,
        title=document.title,
        file_words=document.file_words,
        outline=outline,
        collection=document.collection,
    )
    version = Version(content.text, outline, document.content_sha256, chunks)
    with transaction.atomic():
        # In the order of ``DocumentWriter``: first the names, then the row.
        lock_names(document.collection, document.source_uri, document.content_sha256)
        locked = _locked(document_id)
        if _version_of(locked) != _version_of(document):
            raise CannotRepair("It was changed this moment.")
        # Also vectors of chunks to be deleted: their texts may recur.
        known = Embedding.objects.of_inputs(
            [chunk.input_sha256 for chunk in chunks], model=locked.collection.embedding_model
        )
        # Storing would otherwise reuse incorrect chunks.
        collection = locked.collection
        wrong = [
            chunk
            for chunk in locked.chunks.defer("lexemes")
            if chunk.chunk_sha256 != sha256(chunk.text.encode()).hexdigest()
            or chunk.ngrams != character_ngrams(f"{chunk.context} {chunk.text}")
            or (chunk.language, chunk.collection_id) != (collection.language, collection.pk)
        ]
        words = {
            key: read_words(chunk.pk for chunk in wrong if chunk.collection_id == key)
            for key in {chunk.collection_id for chunk in wrong}
        }
        Chunk.objects.filter(pk__in=[chunk.pk for chunk in wrong]).delete()
        DocumentWriter(
            version,
            Attributes.of(locked),
            locked.collection,
            Encoded(locked.collection.embedding_model, known, frozenset()),
            replacing=locked,
            apply_rules=False,
        ).write()
        for collection_id, lexemes in words.items():
            drop_unused_words(lexemes, collection_id=collection_id)
    return f"document {document_id} was chunked again"


def _locked(document_id: UUID) -> Document:
    rows = Document.objects.select_related("collection").filter(pk=document_id)
    document = rows.select_for_update(no_key=True, of=("self",)).first()
    if document is None:
        raise CannotRepair("It was deleted this moment.")
    return document


@transaction.atomic
def count_document(document_id: UUID) -> str:
    document = _locked(document_id)
    texts = DocumentContent.objects.filter(pk=document_id).values_list("text", flat=True)
    text = texts.first() or ""
    Document.objects.filter(pk=document_id).update(
        chunk_count=document.chunks.count(), char_count=len(text), word_count=len(text.split())
    )
    return f"document {document_id} was counted"


@transaction.atomic
def reembed_document(document_id: UUID) -> str:
    """Delete wrong vectors, and queue a job for missing ones."""
    document = _locked(document_id)
    execute(_DROP_VECTORS, [document_id])
    model = document.collection.embedding_model
    if not document.content_sha256 or not document.chunks.lacking_vectors(model).exists():
        return f"wrong vectors of document {document_id} were dropped"
    if document.status == Document.Status.COMPLETED:
        Document.objects.filter(pk=document_id).update(status=Document.Status.PROCESSING)
    job = queue_completion(str(document_id), collection=document.collection)
    return f"job {job.pk} brings the vectors of document {document_id}"


@transaction.atomic
def complete_document(document_id: UUID) -> str:
    document = _locked(document_id)
    if not document.content_sha256:
        raise CannotRepair("It never got a text: take it in again, or delete it.")
    job = queue_completion(str(document_id), collection=document.collection)
    return f"job {job.pk} completes document {document_id}"


@transaction.atomic
def retag_document(document_id: UUID) -> str:
    document = _locked(document_id)
    set_tags(document, list(document.tags.values_list("name", flat=True)))
    return f"chunks of document {document_id} have its tags"


@transaction.atomic
def drop_token_vectors(chunk_id: UUID) -> str:
    TokenVectors.objects.filter(chunk=chunk_id).delete()
    if background_embedder() is not None:
        for key in Chunk.objects.filter(pk=chunk_id).values_list("collection_id", flat=True):
            enqueue_token_vectors(key)
    return f"token vectors of chunk {chunk_id} were dropped, to be made again"


@transaction.atomic
def count_words(collection_id: int) -> str:
    execute(_COUNT_WORDS, {"collection": collection_id})
    unused = [lexeme for (lexeme,) in execute(UNUSED_WORDS, {"collection": collection_id})]
    drop_unused_words(unused, collection_id=collection_id)
    return f"the words of collection {collection_id} were counted"


@transaction.atomic
def count_documents(_: tuple[()]) -> str:
    DocumentCount.objects.lock()
    execute(_COUNT_DOCUMENTS)
    return "documents were counted, and those of each tag"


def index_vectors(collection_id: int) -> str:
    collection = Collection.objects.get(pk=collection_id)
    ensure_vector_index(model=collection.embedding_model, dimension=collection.dimension)
    if collection.previous_dimension is not None:
        ensure_vector_index(
            model=collection.previous_model, dimension=collection.previous_dimension
        )
    return f"the vectors of collection {collection} were indexed"


def create_version(collection_id: int) -> str:
    collection = Collection.objects.get(pk=collection_id)
    execute("SELECT corpus_tell_change(ARRAY[%s])", [collection.pk])
    return f"collection {collection} has a version"


def count_items(job_id: UUID) -> str:
    with transaction.atomic():
        # Counting an item locks its job.
        list(Job.objects.select_for_update(no_key=True).filter(pk=job_id).values_list("pk"))
        execute(_COUNT_ITEMS, [job_id])
    return f"the items of job {job_id} were counted"


def _drop_orphans(table: str, key: str) -> str:
    execute(_DROP_ORPHANS.format(table=table))
    return f"{table} has no more of collections that are gone"


def _find(model: type[Model], field: str = "pk") -> Callable[[str], Any]:
    """Return a function that returns a field of the row with a key, None without that row."""
    return lambda key: model._default_manager.filter(pk=key).values_list(field, flat=True).first()


_document, _collection = _find(Document), _find(Collection)
_document_of_chunk = _find(Chunk, "document")
_RECHUNK = _Repair(rechunk_document, _document)
_RECHUNK_OF_CHUNK = _Repair(rechunk_document, _document_of_chunk)
_COUNT = _Repair(count_document, _document)
_REEMBED_OF_VECTOR = _Repair(reembed_document, _find(Embedding, "chunk__document"))
_REEMBED_OF_CHUNK = _Repair(reembed_document, _document_of_chunk)
_DROP_TOKEN_VECTORS = _Repair(drop_token_vectors, str)
_RETAG = _Repair(retag_document, _document_of_chunk)
_COUNT_WORDS_OF_KEY = _Repair(count_words, lambda key: int(key.split(" ", 1)[0]))
_DROP_VERSIONS = _Repair(partial(_drop_orphans, "corpus_collectionchange"), str)
_DROP_COUNTS = _Repair(partial(_drop_orphans, "corpus_termcount"), str)
_COMPLETE = _Repair(complete_document, _document)
# In this order: chunks before the rows that depend on them.
REPAIRS: Mapping[str, _Repair] = {
    "a completed document has no chunk": _RECHUNK,
    "ordinals of a document are not 0, 1, 2, ...": _RECHUNK,
    "the end of a document is in no chunk": _RECHUNK,
    "a chunk is in another collection than its document": _RECHUNK_OF_CHUNK,
    "the language of a chunk is not its collection's": _RECHUNK_OF_CHUNK,
    "a chunk is not the span it names": _RECHUNK_OF_CHUNK,
    "a chunk stands before the one it comes after": _RECHUNK_OF_CHUNK,
    "text before a chunk is in no chunk": _RECHUNK_OF_CHUNK,
    "chunk_sha256 of a chunk is wrong": _RECHUNK_OF_CHUNK,
    "ngrams of a chunk are wrong": _RECHUNK_OF_CHUNK,
    "chunk_count of a document is wrong": _COUNT,
    "char_count or word_count of a document is wrong": _COUNT,
    "a vector is in another collection than its chunk": _REEMBED_OF_VECTOR,
    "a vector has not the dimension of its collection": _REEMBED_OF_VECTOR,
    "a vector is not of length 1": _REEMBED_OF_VECTOR,
    "a vector is of another text than its chunk's": _REEMBED_OF_CHUNK,
    "a chunk of a completed document has no vector of its collection's model": _REEMBED_OF_CHUNK,
    "token vectors are of another text than their chunk's": _DROP_TOKEN_VECTORS,
    "token vectors have not the length of their tokens": _DROP_TOKEN_VECTORS,
    "a chunk lacks a tag of its document": _RETAG,
    "a chunk has a tag that its document lacks": _RETAG,
    "the count of a word is wrong": _COUNT_WORDS_OF_KEY,
    "a word of no chunk is kept": _COUNT_WORDS_OF_KEY,
    "the count of documents is wrong": _Repair(count_documents, lambda _: ()),
    "a collection has no index for its model's vectors": _Repair(index_vectors, _collection),
    "a collection has no version": _Repair(create_version, _collection),
    "a version is of a collection that is gone": _DROP_VERSIONS,
    "words are counted of a collection that is gone": _DROP_COUNTS,
    "a document is pending or processing and no unfinished job has it": _COMPLETE,
    "the counts of a job are not those of its items": _Repair(count_items, str),
}
