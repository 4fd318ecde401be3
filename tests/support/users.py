"""Two users, one of whom has one of everything."""

from contextlib import suppress
from dataclasses import asdict, replace
from typing import Any, NamedTuple

from django.contrib.auth import get_user_model
from django.db import connection, transaction

from accounts.authentication import principal_of
from accounts.keys import create_key
from corpus.access.principal import acting_as
from corpus.catalogue import create_collection
from corpus.models import IdempotentRequest, Job, WatchedFolder, Webhook
from corpus.sites import SiteLimits, add_site
from evaluation.collection_benchmark import Trial
from evaluation.models import CollectionBenchmark, Question
from qa.models import Answer, ChatStream, Grid, Session, StandingQuestion
from tests.support.client import Api
from tests.support.documents import LIGHTHOUSE, LIGHTHOUSE_QUESTION, ingest_text_of

SECRET = f"{LIGHTHOUSE} The marigold key lies under the third stone."
ADDRESS = "https://bavoke.example/zinnia/"
# One for all: each would load the middleware anew.
CALLER = Api()


class Tenant(NamedTuple):
    """A user with all that one may have."""

    user: Any
    key: str
    ids: dict[str, str]


def make_otto() -> Tenant:
    """A user with nothing."""
    user = get_user_model().objects.create_user("otto")
    return Tenant(user, create_key(user, name="otto's", scopes=["read", "ingest"])[1], {})


def make_ida() -> Tenant:
    """A user with a collection ``secret``, and something in every table that belongs to it."""
    user = get_user_model().objects.create_user("ida")
    key = create_key(user, name="ida's", scopes=["read", "ingest"])[1]
    with acting_as(principal_of(user)):
        collection = create_collection("secret", description="of the marigold")
        stored = ingest_text_of(collection)(
            SECRET, title="Marigold", tags=("ottermol",), source_uri=f"{ADDRESS}tower"
        )
        site, _ = add_site(ADDRESS, SiteLimits(), collection=collection)
        job = Job.objects.create(kind="edit", collection=collection, errors=[{"path": "zinnia"}])
        grid = Grid.objects.create(collection=collection, name="zinnia", questions=["marigold?"])
        watched = WatchedFolder.objects.create(collection=collection, path="/srv/zinnia")
        Question.objects.create(collection=collection, text="Where is the marigold key?")
        hook = Webhook.objects.create(
            collection=collection, url="https://zinnia.example/", events=["job.ended"]
        )
        delivery = hook.deliveries.create(event="job.ended", subject_id=job.pk, state="sent")
        trial = Trial(
            "Where is the marigold key?", "text/plain", "It lies.", stored.document_id, 0, 9
        )
        CollectionBenchmark.objects.create(
            collection=collection,
            questions=[asdict(replace(trial, is_asked=True))],
            documents=[stored.document_id],
        )
        IdempotentRequest.objects.create(
            key="k1", request_sha256="0" * 64, status=201, body={"text": "marigold"}
        )
    asked = call(key, "post", "/ask", question=LIGHTHOUSE_QUESTION, collection="secret").json()
    with acting_as(principal_of(user)):
        session = Session.objects.create(is_kept=True, name="marigold")
        answer = Answer.objects.get()
        stream = ChatStream.objects.create(session=session, answer=answer)
        standing = StandingQuestion.objects.create(
            collection=collection, question="Where is the marigold key?", answer=answer
        )
    call(key, "post", f"/answers/{answer.pk}/feedback", rating="up", comment="zinnia")
    assert asked["sources"]
    return Tenant(
        user,
        key,
        {
            "document_id": stored.document_id,
            "chunk_id": stored.chunk_ids[0],
            "site_id": str(site.pk),
            "job_id": str(job.pk),
            "session_id": str(session.pk),
            "grid_id": str(grid.pk),
            "question_id": str(standing.pk),
            "answer_id": str(answer.pk),
            "chat_id": str(stream.pk),
            "folder_id": str(watched.pk),
            "webhook_id": str(hook.pk),
            "delivery_id": str(delivery.pk),
            "name": "secret@ida",
        },
    )


def call(key: str, method: str, path: str, /, **body: Any) -> Any:
    headers = {"Authorization": f"Bearer {key}"}
    # As there is no transaction round a request but a test's: what Postgres refuses ends there.
    with suppress(Refused), transaction.atomic():
        reply = getattr(CALLER, method)(path, body, headers=headers)
        if connection.needs_rollback or reply.status_code == 403:
            raise Refused
    return reply


class Refused(Exception):
    """The savepoint of a request goes back."""
