"""The admin of the corpus; importing it registers the models."""

from corpus.admin import (  # noqa: F401
    chunk_admin,
    collection_admin,
    document_admin,
    job_admin,
    rule_admin,
    tag_admin,
)
