"""Ingest a submission: load, normalize, chunk, route, embed, write."""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from hashlib import sha256

from django.conf import settings

from corpus.chunk_settings import ChunkSettings
from corpus.converter import load_or_convert
from corpus.embedders import get_embedder
from corpus.errors import Conflict, EmptyDocument, TextTooLong, TextTooShort
from corpus.ingestion.chunking import NewChunk, cut_chunks
from corpus.ingestion.document_writer import (
    DocumentWriter,
    StoredDocument,
    Version,
    reject_duplicate,
    reject_duplicate_uri,
)
from corpus.ingestion.normal_form import Outline, join_blocks
from corpus.ingestion.submission import Attributes, IngestOptions, Submission
from corpus.ingestion.uploaded_files import fit_name, saved_while_stored
from corpus.ingestion.vectors import encode
from corpus.loaders import LoaderLimits
from corpus.loaders.blocks import Block
from corpus.models import DEFAULT_COLLECTION, Collection, Document
from corpus.rules import active_rules
from corpus.rules.matching import RuleSubject, matching_rules_of_new
from corpus.telemetry import Step, ingest_latency_ms, ingest_requests, measured, span
from corpus.user_quotas import check_quota

# Maximum characters for each stored one: normalization removes white space and joins letter parts.
# Longer texts are rejected before normalization.
MAX_SHRINKING = 4
# Scanned pages that OCR reads within a request: about two minutes (docs/decisions/0039).
AWAITED_SCANS = 40


def ingest_submission(submission: Submission, *, collection: Collection) -> StoredDocument:
    """Ingest a submission, and replace the stored version of its ``source_uri``.

    No lock is held while a model computes.

    Raises:
        TextTooShort, TextTooLong: The length of the normalized text is out of bounds. A file has
            no minimum length.
        BinaryText: It is not a text.
        UnsupportedMediaType: No loader reads the file.
        UnreadableFile: The file is broken, encrypted or hostile.
        EmptyDocument: The file contains no text.
        TooLarge: The file has too many scanned pages for a request.
        DuplicateDocument: The collection has this content already.
        NoRoomLeft: The collection's owner has reached a quota.
        BackendError: The embedder cannot count tokens; nothing was written. If it only fails to
            embed, the document is stored and a job adds the vectors.
    """
    options = submission.options
    with (
        measured(
            ingest_requests, ingest_latency_ms, model=collection.embedding_model, route="ingest"
        ),
        span(Step.INGEST, collection=collection.name),
    ):
        text, outline, attributes = load(submission)
        with span(Step.HASH):
            content_sha256 = sha256(text.encode()).hexdigest()
        # Before chunks are cut, which takes longer.
        reject_duplicate(collection, content_sha256, replacing=options.replacing)
        cut = partial(
            cut_chunks,
            text,
            title=attributes.title,
            file_words=attributes.file_words,
            outline=outline,
        )
        chunks = cut(collection=collection)
        target = _route(submission, chunks, attributes, collection)
        if target is not None:
            reject_duplicate(target, content_sha256)
            if _cut_settings(target) != _cut_settings(collection):
                chunks = cut(collection=target)
            collection = target
        # Checked before embedding, and again in the transaction.
        check_quota(
            collection,
            size_bytes=attributes.size_bytes,
            source_uri=attributes.source_uri,
            replacing=options.replacing,
        )
        options.on_embedding()
        embedder = get_embedder(collection.embedding_model)
        inputs = {chunk.input_sha256: chunk.embedder_input for chunk in chunks}
        encoded = encode(inputs, embedder=embedder, leave_out_failed=True)
        saved = (
            saved_while_stored(submission.upload.content, name=submission.upload.name)
            if submission.upload
            else nullcontext(attributes.kept_file)
        )
        with saved as kept_file:
            return DocumentWriter(
                Version(text, outline, content_sha256, chunks),
                replace(attributes, kept_file=kept_file),
                collection,
                encoded,
                replacing=options.replacing,
                apply_rules=options.apply_rules,
            ).write()


def load(submission: Submission) -> tuple[str, Outline, Attributes]:
    """Return the normalized text with its outline, and the attributes with those of a file.

    Raises:
        PkbError: As ``ingest_submission``, for the text or file itself.
    """
    content, attributes, options = submission.content, submission.attributes, submission.options
    if isinstance(content, Document):
        if not content.content_sha256:
            raise Conflict("The document was never read. Upload it again.")
        text, outline = content.content.text, Outline.from_json(content.content.outline)
    elif isinstance(content, str):
        # Before any work: the text may be as long as a request body.
        _check_length(content, 0, MAX_SHRINKING * settings.PKB_MAX_INPUT_CHARS)
        with span(Step.NORMALIZE):
            text, outline = join_blocks([Block(content)])
        _check_length(text, settings.PKB_MIN_INPUT_CHARS, settings.PKB_MAX_INPUT_CHARS)
    else:
        limits = LoaderLimits(
            max_file_bytes=settings.PKB_MAX_FILE_BYTES,
            max_chars=settings.PKB_MAX_FILE_CHARS,
            ocr=settings.PKB_OCR != "off",
        )
        if options.is_awaited:
            limits = replace(limits, max_scanned_pages=AWAITED_SCANS, all_scans=True)
        with span(Step.LOAD):
            loaded, media_type = load_or_convert(
                content.content,
                filename=content.name,
                media_type=content.media_type,
                limits=limits,
            )
        with span(Step.NORMALIZE):
            text, outline = join_blocks(loaded.blocks)
        if not text:
            raise EmptyDocument(f"{content.name or 'The file'} holds no text.")
        _check_length(text, 1, options.max_chars or settings.PKB_MAX_FILE_CHARS)
        attributes = attributes.filled_from(
            loaded,
            name=content.name,
            media_type=media_type,
            size_bytes=len(content.content),
        )
        if options.keep_file:
            attributes = replace(attributes, file_hash=sha256(content.content).hexdigest())
    size_bytes = attributes.size_bytes or len(text.encode())
    return text, outline, replace(attributes, size_bytes=size_bytes)


def reingest_document(
    document: Document, *, collection: Collection | None = None
) -> StoredDocument:
    """Chunk and embed a stored document again, by the current settings of its collection.

    Args:
        collection: Move it to this collection.

    Raises:
        BackendError: The embedder failed; the old chunks stay.
        Conflict: The document has no text.
        DuplicateDocument, NoRoomLeft: As ``move_to_collection``.
    """
    options = IngestOptions(replacing=document, apply_rules=False)
    submission = Submission(document, Attributes.of(document), options)
    return ingest_submission(submission, collection=collection or document.collection)


def move_to_collection(document: Document, collection: Collection) -> None:
    """Move a document to another collection; it keeps its id, and is chunked and embedded again.

    Raises:
        DuplicateDocument: The other collection has this content or URI already.
        NoRoomLeft: Its owner has reached a quota.
        BackendError: The embedder failed; the document stays where it is.
    """
    if document.collection_id == collection.pk:
        return
    if not document.content_sha256:
        reject_duplicate_uri(collection, document.source_uri)
        Document.objects.filter(pk=document.pk).update(collection=collection)
    else:
        reingest_document(document, collection=collection)


def _check_length(text: str, minimum: int, maximum: int) -> None:
    if len(text) < minimum:
        raise TextTooShort(f"{len(text)} characters; at least {minimum} are required.")
    if len(text) > maximum:
        raise TextTooLong(f"{len(text):,} characters; at most {maximum:,} are allowed.")


def _cut_settings(collection: Collection) -> tuple[str, ChunkSettings]:
    """Return the settings that the chunks of a text depend on."""
    return collection.embedding_model, ChunkSettings.of(collection)


def _route(
    submission: Submission,
    chunks: Sequence[NewChunk],
    attributes: Attributes,
    collection: Collection,
) -> Collection | None:
    """Return the collection that a rule gives to a new document of the default one, if any.

    A new version of a document stays in its collection. Rules match the words of chunks, as they
    do for stored documents.
    """
    if not submission.options.apply_routing or collection.name != DEFAULT_COLLECTION:
        return None
    rules = [each for each in active_rules() if each.collection not in {"", DEFAULT_COLLECTION}]
    if not rules:
        return None
    at_uri = Document.objects.stored().filter(source_uri=attributes.source_uri)
    if attributes.source_uri and at_uri.filter(collection=collection).exists():
        return None
    subject = RuleSubject(
        collection=collection,
        title=attributes.title,
        metadata=attributes.metadata,
        file_path=attributes.file_path,
        source_uri=attributes.source_uri,
        upload_name=fit_name(submission.upload.name) if submission.upload else "",
    )
    passages = [f"{chunk.context} {chunk.text}" for chunk in chunks]
    writable = Collection.objects.writable()
    matches = matching_rules_of_new(subject, rules, passages=passages)
    return next(filter(None, (writable.find(rule.collection) for rule in matches)), None)
