"""One small installation that has something of everything, made once."""

import os
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction
from django.test import override_settings
from django.utils import timezone

from corpus.ingestion.submission import Attributes
from corpus.loaders.metadata import ranked_text
from corpus.models import (
    DEFAULT_COLLECTION,
    Chunk,
    Collection,
    Document,
    IdempotentRequest,
    Job,
    JobItem,
    Rule,
    Site,
    SitePage,
    TokenVectors,
    Tombstone,
    WatchedFolder,
)
from evaluation.models import Question
from qa.models import Answer, ChatEvent, ChatStream, Citation, Message, Session
from tests.support.documents import (
    BAKERY,
    FIRST_SENTENCE,
    LIGHTHOUSE,
    LIGHTHOUSE_QUESTION,
    ingest_text,
)
from tests.support.doubles import HASHING, HASHING_MODEL, hash_collections
from tests.support.processes import connected_to, own_database

LONG = "\n\n".join(
    f"# Tower {number}\n\n" + f"The tower of village {number} is old. " * 40 for number in range(3)
)
CHEAP = {
    "PKB_EMBEDDERS": {HASHING_MODEL: HASHING},
    "PKB_EMBEDDING_MODEL": HASHING_MODEL,
    "PKB_KEEP_ORIGINALS": False,
    "PKB_TOKEN_VECTORS": "off",
}


@pytest.fixture(scope="package")
def installation(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """What is stored of a tower, a lighthouse and a bakery, in a database of its own."""
    name = f"test_verify_{os.getpid()}"
    with (
        override_settings(**CHEAP),
        django_db_blocker.unblock(),
        own_database(name),
        connected_to(name),
    ):
        hash_collections()
        Collection.objects.update(chunk_size=100)
        collection = Collection.objects.get_named(DEFAULT_COLLECTION)
        for title, text in {"Towers": LONG, "Coast": LIGHTHOUSE, "Bread": BAKERY}.items():
            attributes = Attributes(title=title, source_uri=f"https://a.org/{title}", tags=("old",))
            ingest_text(text, collection=collection, attributes=attributes)
        _keep_token_vectors()
        _keep_work(collection)
        _keep_what_is_mirrored(collection)
        _keep_answers(collection)
        yield


@pytest.fixture
def stored(
    installation: None, django_db_blocker: Any, settings: Any, tmp_path: Path
) -> Iterator[None]:
    """The installation, which has what a test did to it undone; no place of a run is kept."""
    settings.DATA_DIR = tmp_path
    with django_db_blocker.unblock(), transaction.atomic():
        yield
        transaction.set_rollback(True)


def _keep_token_vectors() -> None:
    for chunk in Chunk.objects.select_related("document"):
        text = ranked_text(chunk.text, title=chunk.document.title, file_words="")
        digest = sha256(text.encode()).hexdigest()
        TokenVectors.objects.create(
            chunk=chunk, model="tokens", input_sha256=digest, token_count=3, packed=bytes(24)
        )


def _keep_work(collection: Collection) -> None:
    now = timezone.now()
    job = Job.objects.create(
        kind="sync", status="succeeded", total=1, done=1, collection=collection, finished_at=now
    )
    JobItem.objects.create(job=job, key="a.txt", path="a.txt", status="done", ended_at=now)
    WatchedFolder.objects.create(path="/srv/a/b", root="/srv/a", collection=collection, job=job)
    document = Document.objects.get(title="Bread")
    body = {"document_id": str(document.pk)}
    IdempotentRequest.objects.create(key="k", request_sha256="0" * 64, status=201, body=body)
    Tombstone.objects.create(content_sha256="0" * 64, seal=bytes(8), width=8, hashes=bytes(16))
    Rule.objects.create(name="old", words=["old"], tags=["old"])


def _keep_what_is_mirrored(collection: Collection) -> None:
    site = Site.objects.create(
        address="https://a.org/", host="a.org", depth=1, max_pages=9, collection=collection
    )
    SitePage.objects.create(site=site, digest="0" * 64, address="https://a.org/b", depth=0)


def _keep_answers(collection: Collection) -> None:
    """A question that is answered, and one after it; a stream of the first."""
    document = Document.objects.get(title="Coast")
    session = Session.objects.create()
    given: dict[str, Any] = {
        "collection": collection, "kind": "answer", "text": FIRST_SENTENCE, "confidence": 0.9,
        "short_start": 0, "short_end": 3, "draft": {"documents": [str(document.pk)]},
    }  # fmt: skip
    for question in (LIGHTHOUSE_QUESTION, "And when?"):
        answer = Answer.objects.create(question=question, **given)
        Message.objects.create(session=session, answer=answer, searched=question)
        Citation.objects.create(
            answer=answer, ordinal=0, document=document, chunk=document.chunks.get(),
            content_sha256=document.content_sha256, quote=FIRST_SENTENCE, start_char=0,
            end_char=len(FIRST_SENTENCE), context_start=0, context_end=len(FIRST_SENTENCE),
            answer_start=0, answer_end=len(FIRST_SENTENCE), score=1, support="supported",
        )  # fmt: skip
        stream = ChatStream.objects.create(session=session, answer=answer)
        ChatEvent.objects.create(stream=stream, ordinal=1, kind="chunk", body={})
    Question.objects.create(
        collection=collection, document=document, text=LIGHTHOUSE_QUESTION, quote=FIRST_SENTENCE,
        start_char=0, end_char=len(FIRST_SENTENCE), content_sha256=document.content_sha256,
        origin="generated",
    )  # fmt: skip
