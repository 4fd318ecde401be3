"""The tables: one module for each aggregate, with its query sets."""

from corpus.models.chunk import Chunk, ChunkTag, Embedding, TokenVectors
from corpus.models.collection import (
    ALL_COLLECTIONS,
    DEFAULT_COLLECTION,
    MAX_QUALIFIED_NAME_CHARS,
    NAME_PATTERN,
    QUALIFIED_NAME_PATTERN,
    Collection,
    CollectionChange,
    DocumentCount,
    TermCount,
    Version,
)
from corpus.models.document import Document, DocumentContent, DroppedFile
from corpus.models.grant import CollectionAccess, Grant
from corpus.models.idempotent_request import IdempotentRequest
from corpus.models.installation import Installation
from corpus.models.job import Job, JobItem
from corpus.models.rule import Rule
from corpus.models.site import Site, SitePage
from corpus.models.tag import Tag
from corpus.models.tombstone import Tombstone
from corpus.models.watched_folder import WatchedFolder
from corpus.models.webhook import Webhook, WebhookDelivery

__all__ = [
    "ALL_COLLECTIONS",
    "DEFAULT_COLLECTION",
    "MAX_QUALIFIED_NAME_CHARS",
    "NAME_PATTERN",
    "QUALIFIED_NAME_PATTERN",
    "Chunk",
    "ChunkTag",
    "Collection",
    "CollectionAccess",
    "CollectionChange",
    "Document",
    "DocumentContent",
    "DocumentCount",
    "DroppedFile",
    "Embedding",
    "Grant",
    "IdempotentRequest",
    "Installation",
    "Job",
    "JobItem",
    "Rule",
    "Site",
    "SitePage",
    "Tag",
    "TermCount",
    "TokenVectors",
    "Tombstone",
    "Version",
    "WatchedFolder",
    "Webhook",
    "WebhookDelivery",
]
