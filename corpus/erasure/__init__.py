"""Deleting is complete: what a deletion takes along beside what the database cascades."""

from corpus.erasure.deletion import blank_admin_log, documents_deleted

__all__ = ["blank_admin_log", "documents_deleted"]
