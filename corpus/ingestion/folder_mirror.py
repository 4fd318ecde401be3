"""Keep the documents of a collection in sync with files and folders of the server."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, Self

from django.conf import settings
from django.db import transaction

from corpus.errors import (
    BackendError,
    CollectionNotFound,
    NoRoomLeft,
    PkbError,
    UnreadableFile,
)
from corpus.file_selection import Selection, count_kinds
from corpus.ingestion.decisions import Action, Decision, KnownDocument
from corpus.ingestion.document_writer import tags_by_rules
from corpus.ingestion.file_scan import (
    FileContent,
    FileStillChanging,
    FoundFile,
    error_reason,
    find_files,
    is_empty_folder,
    printable,
    read_file,
    rejection_reason,
)
from corpus.ingestion.includes import read_with_includes
from corpus.ingestion.mirror import ListedEntry, Mirror, StaleDocument
from corpus.ingestion.outcomes import ItemResult, Outcome
from corpus.ingestion.submission import Attributes, SubmittedFile
from corpus.models import Collection, Document
from corpus.models.document import DocumentQuerySet
from corpus.roots.file_systems import filter_unmounted
from corpus.roots.safe_open import SymlinkFound, is_folder, read_mode
from corpus.roots.shown_paths import uploads_folder
from corpus.sources.source import Entry
from corpus.tags import add_tags
from corpus.webhooks import WebhookEvent, tell

# Errors of a missing file.
GONE = (FileNotFoundError, NotADirectoryError)
# The kind of waiting files in the counts of skipped files.
BEING_WRITTEN = "being written"
# Other processes may move the same document meanwhile; then the file is read as a new one.
MAX_MOVE_ATTEMPTS = 3

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
        refused: Names of files of an uploaded archive that could not be read, and why.
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
    refused: tuple[tuple[str, str], ...] = ()

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

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        # Jobs from before 0.2 call ``apply_routing`` ``place``.
        renamed = {"apply_routing" if name == "place" else name: stored[name] for name in stored}
        lists = {name: tuple(value) for name, value in stored.items() if isinstance(value, list)}
        return cls(**{**renamed, **lists})


class FolderMirror(Mirror):
    """Files, each with its absolute path as ``source_uri``; the path is the entry's name."""

    version_is_hash: ClassVar[bool] = True

    def __init__(
        self,
        collection: Collection,
        options: SyncOptions,
        *,
        on_embedding: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(
            collection,
            label=options.source,
            tags=options.tags,
            force=options.force,
            on_embedding=on_embedding,
        )
        self._options = options

    def list_entries(self) -> Iterator[list[ListedEntry]]:
        options = self._options
        skipped: Counter[str] = Counter()
        files = find_files(
            options.named,
            root=options.allowed_root,
            selection=options.selection,
            skipped=skipped,
            max_packed_bytes=settings.PKB_MAX_FILE_BYTES,
            quiet_s=options.quiet_s,
        )
        written_count = 0
        while batch := [self._inspect(each) for each in islice(files, options.batch_size)]:
            listed = [each for each in batch if each is not None]
            written_count += len(batch) - len(listed)
            rows = self._documents_at(*(each.entry.uri for each in listed))
            known = {row.source_uri: KnownDocument.of(row) for row in rows}
            versions = (each.entry.version for each in listed if each.entry.uri not in known)
            hashes = filter(None, versions)
            twins = Document.objects.of_file(*hashes, collection_id=self._collection.pk)
            stored_hashes = set(twins.values_list("file_hash", flat=True))
            yield [
                each._replace(
                    known=known.get(each.entry.uri),
                    # A file that moved, or is a copy, is not shown as another document.
                    placeholder=None if each.entry.version in stored_hashes else each.placeholder,
                )
                for each in listed
            ]
        refused = [Entry(name, "", UnreadableFile(reason)) for name, reason in options.refused]
        if refused:
            yield [ListedEntry(entry.uri, entry, None) for entry in refused]
        self.skipped = count_kinds(skipped)
        if written_count:
            self.skipped[BEING_WRITTEN] = written_count

    def store_failure(self, path: Path, reason: str, **columns: str) -> None:
        """Store a failure with the file's document, unless its path cannot be stored."""
        if not rejection_reason(path):
            self.mark_failed(self._new_placeholder(path), reason, **columns)

    def sync(self, name: str) -> ItemResult:
        path = Path(name)
        at_path = self._documents_at(path.as_uri())
        try:
            file = self._read(path, quiet_s=self._options.quiet_s)
        except FileStillChanging:
            # The old version stays; the next sync ingests the new one.
            _mark_unavailable(at_path, reason="It was being written.")
            return ItemResult(Outcome.WAITING)
        except GONE as exc:
            _mark_unavailable(at_path, reason=error_reason(exc))
            raise
        except (PkbError, OSError) as exc:
            self.store_failure(path, error_reason(exc))
            raise
        decision = self._decide_and_move(file)
        if decision.action == Action.DUPLICATE and decision.known:
            self._drop_duplicate(path.as_uri(), decision.known.document_id)
        if not decision.needs_content:
            return decision.result
        # From here on, lists show the document as processing.
        if not at_path.update(status=Document.Status.PROCESSING, error=""):
            placeholder = self._new_placeholder(path, status=Document.Status.PROCESSING)
            Document.objects.bulk_create([placeholder], ignore_conflicts=True)
        root = self._options.root_of(path)
        # The folder of an upload has a made-up name.
        below = path.relative_to(root)
        name = str(Path(*below.parts[1:]) if root == uploads_folder() else below)
        attributes = Attributes.of_file(
            file, source=self._label, tags=self._tags, settings_sha256=self._fingerprint
        )
        try:
            return self._store(
                SubmittedFile(file.content, name),
                attributes,
                apply_routing=self._options.apply_routing,
            )
        # There is no collection to store the failure in.
        except CollectionNotFound:
            raise
        except (BackendError, NoRoomLeft) as exc:
            self.store_failure(path, error_reason(exc))
            raise
        except (PkbError, OSError) as exc:
            # It would recur for the same bytes.
            known = {"file_hash": file.file_hash, "settings_sha256": self._fingerprint}
            self.store_failure(path, error_reason(exc), **known)
            raise

    def find_stale(self) -> Iterator[StaleDocument]:
        """Yield the documents whose files are missing in the synced folder, with their paths."""
        options = self._options
        for folder in options.named if options.mirror else []:
            root = options.allowed_root or folder
            below = Document.objects.filter(collection=self._collection).below(folder.as_uri())
            rows = below.exclude(file_path="").values_list("pk", "source_uri", "file_path")
            for document_id, uri, file_path in list(rows):
                path = Path(file_path)
                # Each file is checked again now: an unreadable file is not missing.
                if not is_folder(folder, root=root) or find_mode(path, root=root) is not None:
                    continue
                # Emptied or unmounted since the files were listed.
                if folder in options.guarded_folders and is_empty_folder(folder, root=root):
                    return
                if not any(path.is_relative_to(each) for each in filter_unmounted(options.mounts)):
                    yield StaleDocument(document_id, uri, file_path)

    def find_twins(self, entry: Entry) -> Iterator[KnownDocument]:
        """Yield the documents at other paths that were read from the same bytes."""
        same = Document.objects.of_file(entry.version, collection_id=self._collection.pk)
        others = same.exclude(source_uri=entry.uri).exclude(file_path="")
        for document in others.order_by("created_at", "pk"):
            yield KnownDocument.of(document, is_gone=self.is_gone(document))

    def is_gone(self, document: Document) -> bool:
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

    def _inspect(self, file: FoundFile) -> ListedEntry | None:
        """Read and hash a file; return None if it is still being written."""
        path = printable(file.path)
        version, error = "", None
        placeholder = self._new_placeholder(path)
        try:
            if file.error is not None:
                raise file.error
            # Only the hash is returned: the bytes of a batch could fill the memory.
            content = self._read(file.path, quiet_s=self._options.quiet_s)
            version, placeholder.size_bytes = content.file_hash, len(content.content)
        except FileStillChanging:
            return None
        except (PkbError, OSError) as exc:
            error = exc
        is_shown = not (file.error or isinstance(error, GONE) or rejection_reason(file.path))
        entry = Entry(path.as_uri(), version, error)
        return ListedEntry(str(path), entry, None, placeholder if is_shown else None)

    def _read(self, path: Path, *, quiet_s: float = 0) -> FileContent:
        return read_with_includes(
            path,
            root=self._options.root_of(path),
            max_bytes=settings.PKB_MAX_FILE_BYTES,
            quiet_s=quiet_s,
        )

    def _decide_and_move(self, file: FileContent) -> Decision:
        """Decide about a file; a document that moves to its path is moved at once."""
        entry = Entry(file.path.as_uri(), file.file_hash)
        for attempt in range(MAX_MOVE_ATTEMPTS + 1):
            row = self._documents_at(entry.uri).first()
            # A file that was rejected is tried again: syncs find the rejection when they list.
            known = replace(KnownDocument.of(row), rejection="") if row else None
            twins = self.find_twins(entry) if attempt < MAX_MOVE_ATTEMPTS else ()
            decision = self.decide(ListedEntry(file.path.name, entry, known), twins)
            # If another process moved or deleted the document meanwhile, decide again.
            if not decision.is_move or (decision.known and self._move(decision.known, file)):
                break
        return decision

    @transaction.atomic
    def _move(self, twin: KnownDocument, file: FileContent) -> bool:
        """Change a document's path to the file's; a document at that path gets the old path.

        Returns:
            False if the document was moved or deleted meanwhile.
        """
        uri = file.path.as_uri()
        rows = Document.objects.select_for_update(no_key=True).only("source_uri", "file_path")
        moving = rows.filter(pk=twin.document_id, source_uri=twin.uri).first()
        if moving is None:
            return False
        at_path = self._documents_at(uri)
        at_path.filter(content_sha256="").delete()
        displaced = Document.objects.filter(pk__in=list(at_path.values_list("pk", flat=True)))
        displaced.update(source_uri="")
        Document.objects.filter(pk=moving.pk).update(
            source_uri=uri, file_path=str(file.path), last_modified=file.last_modified
        )
        displaced.update(source_uri=moving.source_uri, file_path=moving.file_path)
        # Tags of the old path stay: rules and users may have added them.
        moved = Document.objects.get(pk=moving.pk)
        add_tags([moved.pk], tags_by_rules(moved))
        return True

    def _drop_duplicate(self, uri: str, holder_id: str) -> None:
        if self._options.mirror:
            super()._drop_duplicate(uri, holder_id)
            return
        # The old version of this path stays.
        at_path = self._documents_at(uri).exclude(pk=holder_id)
        at_path.filter(content_sha256="").delete()
        at_path.update(status=Document.Status.COMPLETED)

    def _new_placeholder(self, path: Path, **columns: Any) -> Document:
        """Return an unsaved document without a version, so that lists can show the file."""
        return Document(
            collection=self._collection,
            source_uri=path.as_uri(),
            file_path=str(path),
            source=self._label,
            **{"status": Document.Status.PENDING, **columns},
        )


def find_mode(path: Path, *, root: Path) -> int | None:
    """Return the mode of a file: None if it is missing, 0 if that cannot be read.

    A file in an archive has the mode 0 if it is still there.
    """
    try:
        return read_mode(path, root=root)
    except FileNotFoundError:
        return None
    except NotADirectoryError:
        try:
            read_file(path, root=root, max_bytes=settings.PKB_MAX_FILE_BYTES)
        except GONE:
            return None
        except (PkbError, OSError):
            return 0
        return 0
    except OSError:
        return 0


def _mark_unavailable(documents: DocumentQuerySet, *, reason: str) -> None:
    """Delete the placeholder of a file that is missing or still being written.

    A stored version stays, so that a renamed file can be matched by its hash; if it was pending or
    processing, its status becomes failed, with the reason.
    """
    documents.filter(content_sha256="").delete()
    unfinished = documents.filter(status__in=[Document.Status.PENDING, Document.Status.PROCESSING])
    with transaction.atomic():
        tell(WebhookEvent.DOCUMENT_FAILED, unfinished)
        unfinished.update(status=Document.Status.FAILED, error=reason)
