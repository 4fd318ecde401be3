"""Complete deletion: erase data that the database does not cascade to."""

from corpus.erasure.deletion import blank_admin_log, documents_deleted

__all__ = ["blank_admin_log", "documents_deleted"]
