"""The admin of the corpus; importing it registers the models."""

from corpus.admin import (
    chunk_admin,
    collection_admin,
    document_admin,
    job_admin,
    rule_admin,
    tag_admin,
)
from corpus.admin.base_admin import ReadOnlyAdmin

__all__ = [
    "ReadOnlyAdmin",
    "chunk_admin",
    "collection_admin",
    "document_admin",
    "job_admin",
    "rule_admin",
    "tag_admin",
]
