"""Ingest a data set's documents into their own collection, once."""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from hashlib import sha256

from django.conf import settings
from django.test.utils import override_settings

from corpus.catalogue import create_collection, delete_collection
from corpus.chunk_settings import default_chunking
from corpus.errors import BackendError, DuplicateDocument, EmptyDocument, TextTooShort
from corpus.ingestion.ingest import ingest_submission
from corpus.ingestion.submission import Attributes, Submission, SubmittedFile
from corpus.models import Collection, Document
from evaluation.datasets import DataSet, GoldDocument
from evaluation.results import Progress

# Prefix of collections of evaluations.
PREFIX = "eval-"
# Metadata key of a document's ids in the data set: two if two texts are equal.
IDS = "dataset_ids"
# Hexadecimal digits: collisions of data sets of one name are unlikely.
HASH_CHARS = 10


@dataclass(frozen=True, slots=True)
class IndexedDataset:
    """A collection, and the data set's ids of its documents.

    Attributes:
        ids: Data set ids by document id.
        missing_count: Documents without text, which were not ingested.
    """

    collection: Collection
    ids: Mapping[str, tuple[str, ...]]
    missing_count: int = 0


def index_dataset(dataset: DataSet, *, fresh: bool, progress: Progress) -> IndexedDataset:
    """Return the collection of these documents with the active settings.

    Its name has a hash of both: the same documents and settings reuse it, and an interrupted ingest
    resumes.

    Args:
        fresh: Ingest again even if it exists.
        progress: Callback with the ingested and total documents.

    Raises:
        BackendError: The embedder failed.
        PkbError: A document's file cannot be ingested.
    """
    name = collection_name(dataset)
    if fresh and Collection.objects.filter(name=name).exists():
        delete_collection(name)
    collection = Collection.objects.find(name) or create_collection(
        name, description=f"Made by manage.py evaluate of the data set {dataset.name}."
    )
    ids = _read_ids(collection)
    here = {key for keys in ids.values() for key in keys}
    wanted = [document for document in dataset.documents if document.id not in here]
    missing_count = 0
    for count, document in enumerate(wanted, start=1):
        if not _ingest_document(document, collection):
            missing_count += 1
        progress(count, len(wanted))
    lacking_count = collection.chunks.lacking_vectors(collection.embedding_model).count()
    if lacking_count:
        raise BackendError(
            f"{lacking_count} chunks of {name} have no vector: the embedder failed. "
            "A worker brings them (manage.py worker), --fresh begins anew."
        )
    return IndexedDataset(collection, _read_ids(collection) if wanted else ids, missing_count)


def collection_name(dataset: DataSet) -> str:
    """Return ``eval-NAME-HASH``, with the hash of documents and chunking."""
    model = settings.PKB_EMBEDDING_MODEL
    backend = settings.PKB_EMBEDDERS.get(model, {}).get("BACKEND")
    chunking = {**asdict(default_chunking()), "model": model, "backend": backend}
    digest = sha256(json.dumps(chunking, sort_keys=True).encode())
    for document in dataset.documents:
        content = document.path.read_bytes() if document.path else document.text.encode()
        # Includes the length, so that texts do not run into each other.
        head = json.dumps([document.id, document.title, len(content)])
        digest.update(head.encode() + content)
    slug = re.sub(r"[^a-zA-Z0-9_-]+", "-", dataset.name).strip("-")[:60]
    return f"{PREFIX}{slug}-{digest.hexdigest()[:HASH_CHARS]}"


def _read_ids(collection: Collection) -> dict[str, tuple[str, ...]]:
    rows = Document.objects.filter(collection=collection).values_list("pk", "metadata")
    return {str(pk): tuple(metadata[IDS]) for pk, metadata in rows if IDS in metadata}


def _ingest_document(document: GoldDocument, collection: Collection) -> bool:
    """Ingest one document; return whether it contains text."""
    attributes = Attributes(
        source="evaluate",
        source_uri=f"evaluate:{document.id}",
        title=document.title[:512],
        metadata={IDS: [document.id]},
    )
    try:
        if document.path:
            file = SubmittedFile(document.path.read_bytes(), document.path.name)
            ingest_submission(Submission(file, attributes), collection=collection)
        else:
            # Texts may be shorter or longer than requests may send.
            limit = settings.PKB_MAX_FILE_CHARS
            with override_settings(PKB_MIN_INPUT_CHARS=1, PKB_MAX_INPUT_CHARS=limit):
                ingest_submission(Submission(document.text, attributes), collection=collection)
    # Two documents have the same text: one is stored with both ids.
    except DuplicateDocument as exc:
        stored = Document.objects.only("metadata").get(pk=exc.document_id)
        stored.metadata = {**stored.metadata, IDS: [*stored.metadata[IDS], document.id]}
        stored.save(update_fields=["metadata"])
    except (TextTooShort, EmptyDocument):
        return False
    return True
