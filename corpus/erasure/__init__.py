"""Deleting is complete: what a deletion takes along beside what the database cascades."""

from corpus.erasure.deletion import documents_deleted, forget_names

__all__ = ["documents_deleted", "forget_names"]
