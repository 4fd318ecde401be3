"""Sync one file: detect whether it is unchanged, renamed, changed or new."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Self

from django.conf import settings
from django.db import transaction

from corpus.errors import BackendError, CollectionNotFound, DuplicateDocument, NoRoomLeft, PkbError
from corpus.ingestion.decisions import Action, Decision, KnownDocument, decide
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
    mark_processing,
    mark_unavailable,
)
from corpus.ingestion.submission import Attributes, IngestOptions, Submission, SubmittedFile
from corpus.models import Collection, Document
from corpus.roots.safe_open import SymlinkFound, is_folder
from corpus.sources.source import Entry
from corpus.tags import add_tags

# Errors of a missing file.
GONE = (FileNotFoundError, NotADirectoryError)


def ingest_fingerprint(collection: Collection, *, tags: Sequence[str]) -> str:
    """Return the hash of the settings that decide how a file is chunked, embedded and tagged."""
    names = [field.name for field in Collection._meta.concrete_fields]
    deciding = [name for name in names if name.startswith("chunk_") or name == "embedding_model"]
    values = {name: getattr(collection, name) for name in deciding}
    canonical = json.dumps({**values, "tags": sorted(tags)}, sort_keys=True)
    return sha256(canonical.encode()).hexdigest()


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

    @property
    def guarded_folders(self) -> list[Path]:
        """Return the folders that may be unmounted if they are empty."""
        return self.named if self.mirror and self.quiet_s else []

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


class FileSync:
    """Ingests files into a collection, each with its absolute path as ``source_uri``.

    Attributes:
        fingerprint: ``settings_sha256`` of the documents.
    """

    def __init__(
        self,
        collection: Collection,
        options: SyncOptions,
        *,
        on_embedding: Callable[[], None] = lambda: None,
    ) -> None:
        self._collection = collection
        self._options = options
        self._on_embedding = on_embedding
        self.fingerprint = ingest_fingerprint(collection, tags=options.tags)

    def sync(self, path: Path) -> ItemResult:
        """Ingest a file; a file with unchanged bytes and settings is not loaded.

        Raises:
            PkbError: It cannot be ingested; its document stores the reason.
            OSError: It cannot be read; its document stores the reason.
        """
        try:
            file = self._read(path, quiet_s=self._options.quiet_s)
        except FileStillChanging:
            # The old version stays; the next sync ingests the new one.
            mark_unavailable(
                path, collection_id=self._collection.pk, reason="It was being written."
            )
            return ItemResult(Outcome.WAITING)
        except GONE as exc:
            mark_unavailable(path, collection_id=self._collection.pk, reason=error_reason(exc))
            raise
        except (PkbError, OSError) as exc:
            self._store_failure(path, exc)
            raise
        decision = self._decide(file)
        if decision.action == Action.DUPLICATE:
            return self._drop_duplicate(file, decision)
        if not decision.needs_content:
            return decision.result
        # From here on, lists show the document as processing.
        mark_processing(file, collection=self._collection, source=self._options.source)
        try:
            return self._ingest(file)
        # There is no collection to store the failure in.
        except CollectionNotFound:
            raise
        except (PkbError, OSError) as exc:
            # These errors may be temporary; others would recur for the same bytes.
            is_temporary = isinstance(exc, BackendError | NoRoomLeft)
            self._store_failure(
                path,
                exc,
                file_hash="" if is_temporary else file.file_hash,
                settings_sha256=self.fingerprint,
            )
            raise

    def find_twins(self, path: Path, file_hash: str) -> Iterator[KnownDocument]:
        """Yield the documents at other paths that were read from the same bytes.

        A twin is gone if its file, below a mirrored folder, is missing or has changed.
        """
        same = Document.objects.of_file(file_hash, collection_id=self._collection.pk)
        others = same.exclude(source_uri=path.as_uri()).exclude(file_path="")
        for document in others.defer("raw_text", "outline").order_by("created_at", "pk"):
            yield KnownDocument.of(document, is_gone=self._is_gone(document))

    def _is_gone(self, document: Document) -> bool:
        path = Path(document.file_path)
        folders = self._options.named if self._options.mirror else []
        if not any(path.is_relative_to(folder) for folder in folders):
            return False
        try:
            return self._read(path).file_hash != document.file_hash
        except (*GONE, SymlinkFound):
            return True
        except (PkbError, OSError):
            # An unreadable file is still there.
            return is_folder(path, root=self._options.root_of(path))

    def _read(self, path: Path, *, quiet_s: float = 0) -> FileContent:
        return read_with_includes(
            path,
            root=self._options.root_of(path),
            max_bytes=settings.PKB_MAX_FILE_BYTES,
            quiet_s=quiet_s,
        )

    def _decide(self, file: FileContent) -> Decision:
        """Decide about a file; a document that moves to its path is moved at once."""
        while True:
            stored = self._document_at(file.path)
            decision = decide(
                Entry(file.path.as_uri(), file.file_hash),
                # A file that was rejected is tried again: syncs find the rejection when they list.
                replace(KnownDocument.of(stored), rejection="") if stored else None,
                fingerprint=self.fingerprint,
                twins=self.find_twins(file.path, file.file_hash),
                force=self._options.force,
            )
            if decision.action not in {Action.MOVE, Action.MOVE_AND_REPLACE}:
                return decision
            # Else another process moved or deleted the document meanwhile.
            if decision.known and self._move(decision.known, file):
                return decision

    @transaction.atomic
    def _move(self, twin: KnownDocument, file: FileContent) -> bool:
        """Change a document's path to the file's; a document at that path gets the old path.

        Returns:
            False if the document was moved or deleted meanwhile.
        """
        uri = file.path.as_uri()
        at_path = Document.objects.filter(collection=self._collection, source_uri=uri)
        rows = Document.objects.select_for_update(no_key=True).only("source_uri", "file_path")
        moving = rows.filter(pk=twin.document_id, source_uri=twin.uri).first()
        if moving is None:
            return False
        at_path.filter(content_sha256="").delete()
        displaced = Document.objects.filter(pk__in=list(at_path.values_list("pk", flat=True)))
        displaced.update(source_uri="")
        Document.objects.filter(pk=moving.pk).update(
            source_uri=uri, file_path=str(file.path), last_modified=file.last_modified
        )
        displaced.update(source_uri=moving.source_uri, file_path=moving.file_path)
        # Tags of the old path stay: rules and users may have added them.
        moved = Document.objects.defer("raw_text", "outline").get(pk=moving.pk)
        add_tags([moved.pk], tags_by_rules(moved))
        return True

    def _document_at(self, path: Path) -> Document | None:
        rows = Document.objects.select_related("collection").defer("raw_text", "outline")
        return rows.filter(collection=self._collection, source_uri=path.as_uri()).first()

    def _ingest(self, file: FileContent) -> ItemResult:
        stored = self._document_at(file.path)
        options = self._options
        attributes = Attributes.of_file(
            file, source=options.source, tags=options.tags, settings_sha256=self.fingerprint
        )
        how = IngestOptions(
            apply_routing=options.apply_routing,
            # A placeholder has no version to replace.
            replacing=stored if stored and stored.content_sha256 else None,
            on_embedding=self._on_embedding,
        )
        submission = Submission(SubmittedFile(file.content, file.path.name), attributes, how)
        try:
            result = ingest_submission(submission, collection=self._collection)
        except DuplicateDocument as exc:
            # Other bytes with the same text.
            return self._drop_duplicate(
                file, Decision(Action.DUPLICATE, KnownDocument(exc.document_id))
            )
        if result.collection != self._collection.qualified_name:
            drop_placeholder(file.path, collection=self._collection)
        return ItemResult.from_stored(result)

    def _drop_duplicate(self, file: FileContent, decision: Decision) -> ItemResult:
        """Delete the document of a file whose content another document has."""
        drop_placeholder(file.path, collection=self._collection)
        uri = file.path.as_uri()
        outdated = Document.objects.filter(collection=self._collection, source_uri=uri)
        if self._options.mirror:
            outdated.delete()
        else:
            # The old version of this path stays.
            outdated.update(status=Document.Status.COMPLETED)
        return decision.result

    def _store_failure(self, path: Path, error: PkbError | OSError, **columns: str) -> None:
        """Store the reason with the file's document, unless its path cannot be stored."""
        if not rejection_reason(path):
            mark_failed(
                path,
                collection_id=self._collection.pk,
                source=self._options.source,
                reason=error_reason(error),
                **columns,
            )
