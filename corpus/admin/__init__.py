"""The admin of the corpus; importing it registers the models."""

from corpus.admin import chunks, collections, documents, jobs, rules, tags
from corpus.admin.base import ReadOnlyAdmin

__all__ = ["ReadOnlyAdmin", "chunks", "collections", "documents", "jobs", "rules", "tags"]
