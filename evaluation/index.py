"""Bring a data set's documents into a collection of their own, once."""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import Any

from django.conf import settings

from corpus.catalogue import create_collection, delete_collection
from corpus.chunk_settings import default_chunking
from corpus.errors import BackendError, DuplicateDocument, EmptyDocument, TextTooShort
from corpus.ingestion import Attributes, ingest_file, ingest_text
from corpus.models import Collection, Document
from evaluation.datasets import DataSet, GoldDocument
from evaluation.overrides import overridden
from evaluation.results import Progress

# Begins the names of collections that evaluations made.
PREFIX = "eval-"
# The key, in a document's metadata, of its ids in the data set: two where two texts are the same.
IDS = "dataset_ids"
# Of 16 values each: no two data sets of one name meet by chance.
HASH_CHARS = 10


@dataclass(frozen=True, slots=True)
class IndexedDataset:
    """A collection with the data set's ids of its documents.

    Attributes:
        ids: By the document's own id.
        missing_count: Documents that could not be taken in because they hold no text.
    """

    collection: Collection
    ids: Mapping[str, tuple[str, ...]]
    missing_count: int = 0


def index_dataset(dataset: DataSet, *, fresh: bool, progress: Progress) -> IndexedDataset:
    """Return the collection of these documents under the settings in force.

    Its name has a hash of both: with other documents or other settings it is another one, with
    the same ones it is reused, and an ingest that was broken off is gone on with.

    Args:
        fresh: Make it anew even if it is there.
        progress: Told how many documents are in, and of how many.

    Raises:
        BackendError: The embedder failed.
        PkbError: A document's file cannot be taken in.
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
        if not _bring(document, collection):
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
    """Return ``eval-NAME-HASH``, the hash being of the documents and of how they are cut."""
    digest = sha256(json.dumps(_index_settings(), sort_keys=True).encode())
    for document in dataset.documents:
        content = document.path.read_bytes() if document.path else document.text.encode()
        # With the length, so that no text runs over into the next document.
        head = json.dumps([document.id, document.title, len(content)])
        digest.update(head.encode() + content)
    slug = re.sub(r"[^a-zA-Z0-9_-]+", "-", dataset.name).strip("-")[:60]
    return f"{PREFIX}{slug}-{digest.hexdigest()[:HASH_CHARS]}"


def _index_settings() -> dict[str, Any]:
    model = settings.PKB_EMBEDDING_MODEL
    backend = settings.PKB_EMBEDDERS.get(model, {}).get("BACKEND")
    return {**asdict(default_chunking()), "model": model, "backend": backend}


def _read_ids(collection: Collection) -> dict[str, tuple[str, ...]]:
    rows = Document.objects.filter(collection=collection).values_list("pk", "metadata")
    return {str(pk): tuple(metadata[IDS]) for pk, metadata in rows if IDS in metadata}


def _bring(document: GoldDocument, collection: Collection) -> bool:
    """Take one document in; tell whether it holds any text."""
    attributes = Attributes(
        source="evaluate",
        source_uri=f"evaluate:{document.id}",
        title=document.title[:512],
        metadata={IDS: [document.id]},
    )
    try:
        if document.path:
            ingest_file(
                document.path.read_bytes(),
                filename=document.path.name,
                collection=collection,
                attributes=attributes,
            )
        else:
            with _any_length():
                ingest_text(document.text, collection=collection, attributes=attributes)
    # Two documents of the set have the same text: one is stored, under both ids.
    except DuplicateDocument as exc:
        _add_id(exc.document_id, document.id)
    except (TextTooShort, EmptyDocument):
        return False
    return True


@contextmanager
def _any_length() -> Iterator[None]:
    """Take texts that are shorter or longer than what people may send in."""
    with overridden({"PKB_MIN_INPUT_CHARS": 1, "PKB_MAX_INPUT_CHARS": settings.PKB_MAX_FILE_CHARS}):
        yield


def _add_id(document_id: str, key: str) -> None:
    document = Document.objects.only("metadata").get(pk=document_id)
    document.metadata = {**document.metadata, IDS: [*document.metadata[IDS], key]}
    document.save(update_fields=["metadata"])
