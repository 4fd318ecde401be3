"""The corpus in the admin; importing it registers what it shows."""

from corpus.admin import chunks, collections, documents, jobs, rules, tags
from corpus.admin.base import ReadOnlyAdmin

__all__ = ["ReadOnlyAdmin", "chunks", "collections", "documents", "jobs", "rules", "tags"]
