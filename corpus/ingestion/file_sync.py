"""Sync one file: detect whether it is unchanged, renamed, changed or new."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Self

from django.conf import settings
from django.db import transaction

from corpus.errors import BackendError, CollectionNotFound, DuplicateDocument, NoRoomLeft, PkbError
from corpus.ingestion.document_writer import tags_by_rules
from corpus.ingestion.file_scan import (
    FileContent,
    FileStillChanging,
    error_reason,
    rejection_reason,
)
from corpus.ingestion.file_selection import Selection
from corpus.ingestion.includes import read_with_includes
from corpus.ingestion.ingest import ingest_submission
from corpus.ingestion.outcomes import ItemResult, Outcome
from corpus.ingestion.placeholders import (
    drop_placeholder,
    mark_failed,
    mark_gone,
    mark_processing,
)
from corpus.ingestion.submission import Attributes, IngestOptions, Submission, SubmittedFile
from corpus.models import Collection, Document
from corpus.roots.safe_open import SymlinkFound, is_folder
from corpus.tags import add_tags

# Errors of a missing file.
GONE = (FileNotFoundError, NotADirectoryError)


def find_same(path: Path, file_hash: str, *, collection: Collection) -> list[Document]:
    """Return the documents at other paths that were read from the same bytes."""
    same = Document.objects.of_file(file_hash, collection_id=collection.pk)
    others = same.exclude(source_uri=path.as_uri()).exclude(file_path="")
    return list(others.defer("raw_text", "outline").order_by("created_at", "pk"))


def has_moved(document: Document, *, options: "SyncOptions") -> bool:
    """Return whether the document's file, below a synced folder, is missing or has changed."""
    path = Path(document.file_path)
    folders = options.named if options.mirror else []
    if not any(path.is_relative_to(folder) for folder in folders):
        return False
    return not _still_holds(document, path, root=options.root_of(path))


def _still_holds(document: Document, path: Path, *, root: Path) -> bool:
    try:
        file = read_with_includes(path, root=root, max_bytes=settings.PKB_MAX_FILE_BYTES)
    except (*GONE, SymlinkFound):
        return False
    except (PkbError, OSError):
        # An unreadable file has not moved.
        return not is_folder(path, root=root)
    return file.file_hash == document.file_hash


@transaction.atomic
def move_document(document: Document, file: FileContent, *, collection: Collection) -> bool:
    """Change the document's path to the file's; a document at that path gets the old path.

    Returns:
        False if the document was moved or deleted meanwhile.
    """
    at_path = {"collection": collection, "source_uri": file.path.as_uri()}
    rows = Document.objects.select_for_update(no_key=True)
    moving = rows.filter(pk=document.pk, source_uri=document.source_uri).only("id")
    if not moving.exists():
        return False
    Document.objects.filter(**at_path, content_sha256="").delete()
    displaced = Document.objects.filter(**at_path).values_list("pk", flat=True).first()
    if displaced is not None:
        Document.objects.filter(pk=displaced).update(source_uri="")
    Document.objects.filter(pk=document.pk).update(
        source_uri=file.path.as_uri(), file_path=str(file.path), last_modified=file.last_modified
    )
    if displaced is not None:
        Document.objects.filter(pk=displaced).update(
            source_uri=document.source_uri, file_path=document.file_path
        )
    # Tags of the old path stay: rules and users may have added them.
    moved = Document.objects.defer("raw_text", "outline").get(pk=document.pk)
    add_tags([moved.pk], tags_by_rules(moved))
    return True


def ingest_fingerprint(collection: Collection, *, tags: Sequence[str]) -> str:
    """Return the hash of the settings that decide how a file is chunked, embedded and tagged."""
    names = [field.name for field in Collection._meta.concrete_fields]
    deciding = [name for name in names if name.startswith("chunk_") or name == "embedding_model"]
    settings = {name: getattr(collection, name) for name in deciding}
    said = json.dumps({**settings, "tags": sorted(tags)}, sort_keys=True)
    return sha256(said.encode()).hexdigest()


# Files that are listed between two progress updates.
DEFAULT_BATCH_SIZE = 100


@dataclass(frozen=True, slots=True)
class SyncOptions:
    """Options of a sync.

    Attributes:
        paths: Files and folders, absolute, without symbolic links.
        root: The allowed folder above them; links are not followed below it. Empty for commands:
            then links are not followed below each path.
        mirror: Delete documents of missing files; a renamed file keeps its document.
        force: Ingest unchanged files again.
        source: Label of the documents.
        tags: Additional tags of every document.
        batch_size: Files that are listed at a time.
        include: Patterns of files to ingest; see ``Selection``.
        exclude: Patterns of files and folders to skip.
        quiet_s: For a sync that a change of the folder starts: files that changed within so many
            seconds wait, and an empty folder, which may be unmounted, deletes nothing. 0: the sync
            was requested.
        mounts: Mount points at the last sync; below those that are missing, documents stay.
        apply_routing: Rules choose the collection of new files that are meant for the default one.
            False for a folder: its files are looked up in the collection that mirrors it.
    """

    paths: tuple[str, ...]
    root: str = ""
    mirror: bool = False
    force: bool = False
    source: str = ""
    tags: tuple[str, ...] = ()
    batch_size: int = DEFAULT_BATCH_SIZE
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    quiet_s: float = 0
    mounts: tuple[str, ...] = ()
    apply_routing: bool = False

    @property
    def selection(self) -> Selection:
        return Selection(include=self.include, exclude=self.exclude)

    @property
    def named(self) -> list[Path]:
        return [Path(path) for path in self.paths]

    @property
    def allowed_root(self) -> Path | None:
        return Path(self.root) if self.root else None

    def root_of(self, path: Path) -> Path:
        """Return the folder below which links are not followed, for a file of ``paths``."""
        above = (folder for folder in path.parents if str(folder) in self.paths)
        return self.allowed_root or next(above, path.parent)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        # Jobs from before 0.2 call ``apply_routing`` ``place``.
        renamed = {"apply_routing" if name == "place" else name: stored[name] for name in stored}
        lists = {name: tuple(value) for name, value in stored.items() if isinstance(value, list)}
        return cls(**{**renamed, **lists})


def sync_file(
    path: Path,
    *,
    collection: Collection,
    options: SyncOptions,
    on_embedding: Callable[[], None] = lambda: None,
) -> ItemResult:
    """Ingest a file with its absolute path as ``source_uri``.

    A file with unchanged bytes and settings is not loaded.

    Raises:
        PkbError: It cannot be ingested; its document stores the reason.
        OSError: It cannot be read; its document stores the reason.
    """
    try:
        file = _read(path, collection, options)
    except FileStillChanging:
        # The old version stays; the next sync ingests the new one.
        return ItemResult(Outcome.WAITING)
    fingerprint = ingest_fingerprint(collection, tags=options.tags)
    settled = None if options.force else _settle(file, fingerprint, collection, options)
    if settled is not None:
        return settled
    # From here on, lists show the document as processing.
    mark_processing(file, collection=collection, source=options.source)
    try:
        return _ingest(file, fingerprint, collection, options, on_embedding)
    # There is no collection to store the failure in.
    except CollectionNotFound:
        raise
    except (PkbError, OSError) as exc:
        # These errors may be temporary; others would recur for the same bytes.
        known = {} if isinstance(exc, BackendError | NoRoomLeft) else {"file_hash": file.file_hash}
        _store_failure(file.path, exc, collection, options, settings_sha256=fingerprint, **known)
        raise


def _read(path: Path, collection: Collection, options: SyncOptions) -> FileContent:
    """Read a file; on failure, store the reason with its document."""
    try:
        return read_with_includes(
            path,
            root=options.root_of(path),
            max_bytes=settings.PKB_MAX_FILE_BYTES,
            quiet_s=options.quiet_s,
        )
    except FileStillChanging:
        mark_gone(path, collection_id=collection.pk, reason="It was being written.")
        raise
    except GONE as exc:
        mark_gone(path, collection_id=collection.pk, reason=error_reason(exc))
        raise
    except (PkbError, OSError) as exc:
        _store_failure(path, exc, collection, options)
        raise


def _store_failure(
    path: Path,
    error: PkbError | OSError,
    collection: Collection,
    options: SyncOptions,
    **known: str,
) -> None:
    if rejection_reason(path):
        return
    mark_failed(
        path,
        collection_id=collection.pk,
        source=options.source,
        reason=error_reason(error),
        **known,
    )


def _settle(
    file: FileContent, fingerprint: str, collection: Collection, options: SyncOptions
) -> ItemResult | None:
    """Return the result of a file that need not be loaded, else None."""
    known = _at_path(file, collection)
    result = known_result(file.file_hash, known, fingerprint)
    if result is not None and result.outcome == Outcome.UNCHANGED:
        return result
    same = find_same(file.path, file.file_hash, collection=collection)
    for document in same:
        if has_moved(document, options=options) and move_document(
            document, file, collection=collection
        ):
            is_settled = document.settings_sha256 == fingerprint
            moved = ItemResult(Outcome.RENAMED, str(document.pk), document.chunk_count)
            return moved if is_settled else None
    return _as_duplicate(file, str(same[0].pk), collection, options) if same else None


def _at_path(file: FileContent, collection: Collection) -> Document | None:
    rows = Document.objects.select_related("collection").defer("raw_text", "outline")
    return rows.filter(collection=collection, source_uri=file.path.as_uri()).first()


def _ingest(
    file: FileContent,
    fingerprint: str,
    collection: Collection,
    options: SyncOptions,
    on_embedding: Callable[[], None],
) -> ItemResult:
    known = _at_path(file, collection)
    attributes = Attributes.of_file(
        file, source=options.source, tags=options.tags, settings_sha256=fingerprint
    )
    try:
        how = IngestOptions(
            apply_routing=options.apply_routing,
            # A placeholder has no version to replace.
            replacing=known if known is not None and known.content_sha256 else None,
            on_embedding=on_embedding,
        )
        submitted = SubmittedFile(file.content, file.path.name)
        stored = ingest_submission(Submission(submitted, attributes, how), collection=collection)
    except DuplicateDocument as exc:
        return _as_duplicate(file, exc.document_id, collection, options)
    if stored.collection != collection.qualified_name:
        drop_placeholder(file.path, collection=collection)
    return ItemResult.from_stored(stored)


def _as_duplicate(
    file: FileContent, document_id: str, collection: Collection, options: SyncOptions
) -> ItemResult:
    """Return the result of a file whose content another document has; delete its own document."""
    drop_placeholder(file.path, collection=collection)
    outdated = Document.objects.filter(collection=collection, source_uri=file.path.as_uri())
    if options.mirror:
        outdated.delete()
    else:
        # The old version of this path stays.
        outdated.update(status=Document.Status.COMPLETED)
    return ItemResult(Outcome.UNCHANGED, document_id, reason=duplicate_message(document_id))


def duplicate_message(document_id: str) -> str:
    """Return the reason why a file has no document."""
    return f"The same content is stored as document {document_id}."


def failed_result(error: PkbError | OSError) -> ItemResult:
    """Return the result of a file that could not be ingested."""
    is_refused = isinstance(error, PkbError) and error.status < 500  # noqa: PLR2004
    outcome = Outcome.REFUSED if is_refused else Outcome.FAILED
    return ItemResult(outcome, reason=error_reason(error))


def known_result(file_hash: str, known: Document | None, fingerprint: str) -> ItemResult | None:
    """Return the result of a file with unchanged bytes and settings; None if it must be loaded."""
    if known is None or (known.file_hash, known.settings_sha256) != (file_hash, fingerprint):
        return None
    if known.status == Document.Status.COMPLETED:
        return ItemResult(Outcome.UNCHANGED, str(known.pk), known.chunk_count)
    if known.status == Document.Status.FAILED:
        # The hash is stored only for files that would be rejected again.
        return ItemResult(Outcome.REFUSED, str(known.pk), reason=known.error)
    return None
