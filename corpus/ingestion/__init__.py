"""Bring a document into the corpus."""

from corpus.ingestion.attributes import Attributes
from corpus.ingestion.ingest import ingest_file, ingest_text, reingest_document
from corpus.ingestion.store import StoredDocument

__all__ = ["Attributes", "StoredDocument", "ingest_file", "ingest_text", "reingest_document"]
