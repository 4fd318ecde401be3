"""Bring one file in: unchanged, renamed, replaced or new; and by which options."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Self

from django.conf import settings
from django.db import transaction

from corpus.errors import BackendError, CollectionNotFound, DuplicateDocument, NoRoomLeft, PkbError
from corpus.ingestion.file_scan import (
    FileContent,
    FileStillChanging,
    error_reason,
    rejection_reason,
)
from corpus.ingestion.includes import read_with_includes
from corpus.ingestion.ingest import ingest_file
from corpus.ingestion.outcomes import ItemResult, Outcome
from corpus.ingestion.placeholders import (
    drop_placeholder,
    mark_failed,
    mark_gone,
    mark_processing,
)
from corpus.ingestion.selection import Selection
from corpus.ingestion.store import Attributes, tags_by_rules
from corpus.models import Collection, Document
from corpus.roots.safe_open import SymlinkFound, is_folder
from corpus.tags import add_tags

# What reading a file raises that is not there.
GONE = (FileNotFoundError, NotADirectoryError)


def find_same(path: Path, file_hash: str, *, collection: Collection) -> list[Document]:
    """Return the documents at other paths that were taken in from the same bytes."""
    same = Document.objects.of_file(file_hash, collection_id=collection.pk)
    others = same.exclude(source_uri=path.as_uri()).exclude(file_path="")
    return list(others.defer("raw_text", "outline").order_by("created_at", "pk"))


def has_moved(document: Document, *, options: "SyncOptions") -> bool:
    """Tell whether the document's file, below a mirrored folder, is gone or another one now."""
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
        # Not to be read today: that says nothing of where it is.
        return not is_folder(path, root=root)
    return file.file_hash == document.file_hash


@transaction.atomic
def move_document(document: Document, file: FileContent, *, collection: Collection) -> bool:
    """Put the document at the file's path; what stands there takes its old place.

    Returns:
        False where somebody else moved or removed it meanwhile.
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
    # Tags of its old place stay: nobody knows which of them a rule gave.
    moved = Document.objects.defer("raw_text", "outline").get(pk=document.pk)
    add_tags([moved.pk], tags_by_rules(moved))
    return True


def ingest_fingerprint(collection: Collection, *, tags: Sequence[str]) -> str:
    """Return the hash of what decides how a file is cut, embedded and tagged."""
    names = [field.name for field in Collection._meta.concrete_fields]
    deciding = [name for name in names if name.startswith("chunk_") or name == "embedding_model"]
    settings = {name: getattr(collection, name) for name in deciding}
    said = json.dumps({**settings, "tags": sorted(tags)}, sort_keys=True)
    return sha256(said.encode()).hexdigest()


# Files that are listed at a time; progress is shown between.
DEFAULT_BATCH_SIZE = 100


@dataclass(frozen=True, slots=True)
class SyncOptions:
    """How files are brought in.

    Attributes:
        paths: Files and folders, absolute, with no link in them.
        root: The allowed folder that they lie in; below it no link is followed. Empty where
            somebody named them at the terminal: then none is followed below each of them.
        mirror: Documents of files that are gone from the folder are removed, and a file that
            was renamed keeps its document.
        force: Files are taken in again even if nothing has changed.
        source: The label of the documents.
        tags: Put on every document besides its own.
        batch_size: Files that are listed at a time.
        include: Patterns of the files that are wanted; see ``Selection``.
        exclude: Patterns of files and folders that are not.
        quiet_s: Nobody has asked for it, a change of the folder has: files that changed within so
            many seconds wait, and a mirrored folder that is bare, which one that is not mounted
            is too, removes nothing. 0: somebody has asked.
        mounts: Where something was mounted the last time; where nothing is now, the documents
            below stay.
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
        """Return the folder from which on no link is followed to a file of ``paths``."""
        above = (folder for folder in path.parents if str(folder) in self.paths)
        return self.allowed_root or next(above, path.parent)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Self:
        # Jobs from before 0.2 call ``apply_routing`` ``place``.
        renamed = {"apply_routing" if name == "place" else name: kept[name] for name in kept}
        lists = {name: tuple(value) for name, value in kept.items() if isinstance(value, list)}
        return cls(**{**renamed, **lists})


def sync_file(
    path: Path,
    *,
    collection: Collection,
    options: SyncOptions,
    on_embedding: Callable[[], None] = lambda: None,
) -> ItemResult:
    """Bring a file in under its absolute path as ``source_uri``.

    A file whose bytes and settings are those of last time is not even loaded.

    Raises:
        PkbError: It cannot be taken in; its document says so.
        OSError: It cannot be read; its document says so.
    """
    try:
        file = _read(path, collection, options)
    except FileStillChanging:
        # A version from before stays; the sync that follows takes the new one in.
        return ItemResult(Outcome.WAITING)
    fingerprint = ingest_fingerprint(collection, tags=options.tags)
    settled = None if options.force else _settle(file, fingerprint, collection, options)
    if settled is not None:
        return settled
    # Seen by people from here on, while it is loaded and embedded.
    mark_processing(file, collection=collection, source=options.source)
    try:
        return _ingest(file, fingerprint, collection, options, on_embedding)
    # Nothing is left where the failure could be noted.
    except CollectionNotFound:
        raise
    except (PkbError, OSError) as exc:
        # A model may be back the next time, or room be there; the same bytes stay what they are.
        known = {} if isinstance(exc, BackendError | NoRoomLeft) else {"file_hash": file.file_hash}
        _note_failure(file.path, exc, collection, options, settings_sha256=fingerprint, **known)
        raise


def _read(path: Path, collection: Collection, options: SyncOptions) -> FileContent:
    """Read a file; if it cannot be read, its document says so."""
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
        _note_failure(path, exc, collection, options)
        raise


def _note_failure(
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
    """Return what came of a file that need not be loaded, else None."""
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
        stored = ingest_file(
            file.content,
            filename=file.path.name,
            collection=collection,
            attributes=attributes,
            apply_routing=options.apply_routing,
            # A placeholder has no version that could be replaced.
            replacing=known if known is not None and known.content_sha256 else None,
            on_embedding=on_embedding,
        )
    except DuplicateDocument as exc:
        return _as_duplicate(file, exc.document_id, collection, options)
    if stored.collection != collection.qualified_name:
        drop_placeholder(file.path, collection=collection)
    return ItemResult.of_stored(stored)


def _as_duplicate(
    file: FileContent, document_id: str, collection: Collection, options: SyncOptions
) -> ItemResult:
    """The content is stored under another path: this path has no document of its own."""
    drop_placeholder(file.path, collection=collection)
    outdated = Document.objects.filter(collection=collection, source_uri=file.path.as_uri())
    if options.mirror:
        outdated.delete()
    else:
        # What this path held before stays stored, as it was.
        outdated.update(status=Document.Status.COMPLETED)
    return ItemResult(Outcome.UNCHANGED, document_id, reason=duplicate_message(document_id))


def duplicate_message(document_id: str) -> str:
    """Say why a file has no document of its own."""
    return f"The same content is stored as document {document_id}."


def failed_result(error: PkbError | OSError) -> ItemResult:
    """Return what came of a file that could not be taken in."""
    is_refused = isinstance(error, PkbError) and error.status < 500  # noqa: PLR2004
    outcome = Outcome.REFUSED if is_refused else Outcome.FAILED
    return ItemResult(outcome, reason=error_reason(error))


def known_result(file_hash: str, known: Document | None, fingerprint: str) -> ItemResult | None:
    """Return what is known to come of a file without loading it; None if it is to be taken in."""
    if known is None or (known.file_hash, known.settings_sha256) != (file_hash, fingerprint):
        return None
    if known.status == Document.Status.COMPLETED:
        return ItemResult(Outcome.UNCHANGED, str(known.pk), known.chunk_count)
    if known.status == Document.Status.FAILED:
        # Only of what would be refused again the hash is known.
        return ItemResult(Outcome.REFUSED, str(known.pk), reason=known.error)
    return None
