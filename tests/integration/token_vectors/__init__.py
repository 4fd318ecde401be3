"""What the tests of token vectors share."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from django.test import override_settings
from procrastinate.contrib.django.models import ProcrastinateJob

from corpus.embedders.colbert import TokenEmbedder
from corpus.ingestion.document_writer import StoredDocument
from corpus.loaders.metadata import ranked_text
from corpus.models import Chunk, Collection, TokenVectors
from corpus.queue import FILL
from corpus.token_vectors import (
    RankedChunk,
    fill_token_vectors,
)
from pkb import settings as product
from qa.context import build_context
from qa.search_passages import search_passages
from qa.types import Passage, Query
from tests.support.documents import (
    LIGHTHOUSE_QUESTION,
)


def fill(collection: Collection, embedder: TokenEmbedder) -> bool:
    return fill_token_vectors(collection.pk, embedder=embedder, should_stop=lambda: False)


def search(question: str = LIGHTHOUSE_QUESTION) -> tuple[Passage, ...]:
    query = Query(question, collection="default")
    found = search_passages(
        query, mode="hybrid", threshold=0.0, rerank=True, context=build_context()
    )
    return found.results


def kept_chunks() -> set[str]:
    return {str(pk) for pk in TokenVectors.objects.values_list("chunk_id", flat=True)}


def waiting_fillings() -> list[dict[str, Any]]:
    return list(ProcrastinateJob.objects.filter(task_name=FILL).values("args", "priority"))


def chunks_of(stored: StoredDocument) -> list[RankedChunk]:
    rows = Chunk.objects.filter(pk__in=stored.chunk_ids).select_related("document")
    return [
        RankedChunk(row.pk, ranked_text(row.text, title=row.document.title, file_words=""))
        for row in rows
    ]


@contextmanager
def keeping(kind: str) -> Iterator[None]:
    """The setting, as the environment would have it."""
    specs = dict(settings.PKB_RERANKERS)
    name = settings.PKB_RERANKER_MODEL
    specs[name] = {
        "BACKEND": product.PKB_RERANKERS[name]["BACKEND"],
        "OPTIONS": {"model": name, "threads": 1, "keeps_vectors": kind != "off"},
    }
    with override_settings(PKB_TOKEN_VECTORS=kind, PKB_RERANKERS=specs):
        yield
