"""Standing questions: asked again when the passages change that may answer them."""

from collections.abc import Callable
from hashlib import sha256
from uuid import UUID

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from corpus.access.principal import SYSTEM, Principal, Scope, acting_as
from corpus.errors import (
    AnswerNotFound,
    BackendError,
    CollectionNotFound,
    InvalidInput,
    StandingQuestionNotFound,
)
from corpus.models import CollectionChange
from corpus.webhooks import WebhookEvent, tell
from qa.answer_question import answer_question
from qa.context import build_context
from qa.models import NO_QUESTIONS, Answer, Message, StandingQuestion
from qa.search_passages import search_passages
from qa.types import Passage, Query

# Of one user: each is searched for after every change of its collection.
MAX_STANDING_QUESTIONS = 100

# Finer than the differences of scores that decide what is read: of 9 answers that changed in 60
# commits of a folder, 2 were not told without the scores (benchmarks/standing.py).
SCORE_DECIMALS = 3

log = structlog.get_logger(__name__)


def get_or_create_standing_question(answer_id: UUID) -> StandingQuestion:
    """Return the standing question of an answer, created if there is none.

    Raises:
        AnswerNotFound: The principal sees no such answer.
        InvalidInput: It is not the answer of one collection, or the user has too many.
    """
    answer = Answer.objects.filter(pk=answer_id).first()
    if answer is None:
        raise AnswerNotFound(f"There is no answer {answer_id}.")
    is_limited = answer.collection_id is None or answer.asked_document_id or answer.grid_id
    if is_limited or answer.kind == Answer.Kind.ERASED or answer.intent in NO_QUESTIONS:
        raise InvalidInput(
            "Only a question to one whole collection can be a standing question.", field="answer_id"
        )
    message = Message.objects.filter(answer=answer).first()
    asked = {
        "question": message.searched if message else answer.question,
        "collection_id": answer.collection_id,
        "tags": answer.asked_tags,
    }
    standing = StandingQuestion.objects.filter(**asked).first()
    if standing is not None:
        return standing
    if StandingQuestion.objects.count() >= MAX_STANDING_QUESTIONS:
        raise InvalidInput(f"You have {MAX_STANDING_QUESTIONS} standing questions already.")
    return StandingQuestion.objects.create(**asked, answer=answer)


def find_standing_question(question_id: UUID) -> StandingQuestion:
    """Return a standing question of the principal.

    Raises:
        StandingQuestionNotFound: The principal has no such question.
    """
    rows = StandingQuestion.objects.select_related("collection__owner")
    standing = rows.filter(pk=question_id).first()
    if standing is None:
        raise StandingQuestionNotFound(f"There is no standing question {question_id}.")
    return standing


def ask_changed_questions(*, should_stop: Callable[[], bool]) -> None:
    """Ask again, for their users, the standing questions whose collection has changed.

    What is not done when it stops, or fails, is found again the next time.
    """
    rows = StandingQuestion.objects.select_related("collection__owner").order_by("pk")
    of_active_users = list(rows.filter(Q(made_by=None) | Q(made_by__is_active=True)))
    collections = {standing.collection_id for standing in of_active_users}
    versions = CollectionChange.objects.versions_of(collections)
    for standing in of_active_users:
        version = sorted(versions.get(standing.collection_id, ()))
        if version == standing.seen_version:
            continue
        if should_stop():
            return
        try:
            with acting_as(_principal_of(standing)):
                _ask_again(standing, version)
        except CollectionNotFound:  # its user may not read it any more
            continue
        except BackendError as exc:
            log.warning("standing_question_failed", question=str(standing.pk), reason=str(exc))


def _principal_of(standing: StandingQuestion) -> Principal:
    if standing.made_by_id is None:
        return SYSTEM
    return Principal(
        user_id=standing.made_by_id,
        scopes=frozenset({Scope.READ}),
        collections=(standing.collection_id,),
    )


def _ask_again(standing: StandingQuestion, version: list[UUID]) -> None:
    """Ask, if other passages are found than the last time; store the answer if it changed."""
    context, name = build_context(), standing.collection.qualified_name
    query = Query(standing.question, name, tags=tuple(standing.tags), k=settings.PKB_RETRIEVAL_K)
    nearest = [_digest(each) for each in search_passages(query, context=context).results]
    values: dict[str, object] = {"seen_version": version, "nearest": nearest}
    new, unused = None, None
    if nearest != standing.nearest:
        answered = answer_question(
            query.text, collection=name, tags=query.tags, k=query.k, context=context,
            route="standing",
        )  # fmt: skip
        new, old = Answer.objects.get(pk=answered.id), standing.answer
        values["answer"] = new
        if old is None or comparable_content(old) == comparable_content(new):
            unused = old
        else:
            unused = standing.previous
            values |= {"previous": old, "changed_at": timezone.now(), "is_seen": False}
    # Another worker may have asked it meanwhile, or its user deleted it.
    rows = StandingQuestion.objects.filter(pk=standing.pk, seen_version=standing.seen_version)
    with transaction.atomic():
        if not rows.update(**values):
            unused = new
        elif "changed_at" in values:
            tell(WebhookEvent.QUESTION_CHANGED, [standing])
    if unused is not None:
        # Answers that its user asked for stay.
        stored = Answer.objects.filter(pk=unused.pk, created_at__gt=standing.created_at)
        stored.filter(message=None).delete()


def _digest(passage: Passage) -> str:
    """Return the SHA-256 of what a passage says and how near it is, wherever it stands."""
    # Other documents change scores, and scores decide which passages are read.
    score = f"{passage.score:.{SCORE_DECIMALS}f}"
    parts = (passage.breadcrumb, passage.document_date, passage.text, score)
    return sha256("\0".join(parts).encode()).hexdigest()


def comparable_content(answer: Answer) -> tuple[str, bool, list[str]]:
    """Return the kind, disagreement and quotes; an answer that differs in them has changed."""
    quotes = sorted(" ".join(each.quote.split()) for each in answer.citations.all())
    return answer.kind, bool(answer.disagreement), quotes
