"""Ingest documents: load, normalize, chunk, embed and store them.

- ``ingest_text`` and ``ingest_file`` ingest the content of a request.
- ``file_sync.sync_file`` ingests a new or changed file of the server; jobs call it.
- ``reingest_document`` chunks and embeds a stored document again; ``move_to_collection`` does so
  in another collection.
- Two commands split the work: ``bulk.load.cut_files`` writes a file of chunks, which
  ``bulk.embed.store_entries`` stores.
"""

from corpus.ingestion.ingest import (
    ingest_file,
    ingest_text,
    move_to_collection,
    reingest_document,
)
from corpus.ingestion.store import Attributes, StoredDocument

__all__ = [
    "Attributes", "StoredDocument", "ingest_file", "ingest_text", "move_to_collection",
    "reingest_document",
]  # fmt: skip
