"""Bring documents into the corpus.

- What was sent: ``ingest_text`` for a text, ``ingest_file`` for the bytes of a file.
- A file of this machine, where it is new or changed: ``files.sync_file``; jobs call it.
- A stored document, cut and embedded anew: ``reingest_document``; in another collection:
  ``move_to_collection``.
- By two commands: ``bulk.load.cut_files`` into a file, ``bulk.embed.store_entries`` out of it.
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
