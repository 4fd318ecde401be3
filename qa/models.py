"""Models of answers, citations, conversations and feedback.

``qa.types`` also has an Answer and a Citation: refer to the models as ``models.Answer``.
"""

from __future__ import annotations

import uuid
from datetime import timedelta
from typing import Any, Self

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import (
    Case,
    Count,
    Exists,
    ExpressionWrapper,
    F,
    OuterRef,
    Prefetch,
    Q,
    Subquery,
    Value,
    When,
)
from django.db.models.fields.json import KeyTextTransform, KeyTransform
from django.db.models.functions import Coalesce, Lower, Substr
from django.utils import timezone

from corpus.filters import parse_filter
from corpus.models import Chunk, Collection, Document
from corpus.models.base import BoundModel, LockableQuerySet, OwnedModel
from corpus.models.document import DocumentQuerySet
from corpus.roots.shown_paths import matching
from qa.intent import IntentKind

# Intents that documents cannot answer.
NO_QUESTIONS = (
    IntentKind.GREETING,
    IntentKind.OVERVIEW,
    IntentKind.COUNT,
    IntentKind.AMOUNTS,
    IntentKind.SHORTER,
    IntentKind.REWORDING,
)


# Columns and rows of a grid: what a page shows, and what a worker fills in some hours.
MAX_GRID_QUESTIONS = 20
MAX_GRID_DOCUMENTS = 1_000


class Grid(models.Model):
    """Questions to each document of a collection; its cells are answers from one document each.

    Who may read the collection may read it, and who may change its documents may change it.

    Attributes:
        tags: Its documents have any of them; without tags, all are meant.
        folder: What the shown paths or addresses of its documents begin with, or empty.
        filters: As ``corpus.filters`` parses it, or None.
        seen_version: The version of the collection by which its rows were last compared.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    collection = models.ForeignKey(Collection, models.CASCADE, related_name="grids")
    name = models.CharField(max_length=200)
    questions: models.JSONField[Any, Any] = models.JSONField(default=list)
    tags = models.JSONField(default=list, blank=True)
    folder = models.CharField(max_length=2048, blank=True, default="")
    filters: models.JSONField[Any, Any] = models.JSONField(null=True, blank=True)
    seen_version = ArrayField(models.UUIDField(), default=list, editable=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ["created_at", "id"]

    def __str__(self) -> str:
        return self.name

    def documents(self) -> DocumentQuerySet:
        """Return its rows, in the order of their titles."""
        rows = Document.objects.stored().filter(collection=self.collection_id).tagged(self.tags)
        if self.folder:
            below = f"{self.folder.rstrip('/')}/"
            columns = ("file_path", "source_uri")
            is_path, is_address = (matching(each, "startswith", below) for each in columns)
            rows = rows.filter(is_path | is_address)
        if self.filters is not None:
            rows = rows.matching_filter(parse_filter(self.filters))
        return rows.order_by(Lower("title"), "pk")

    def cells(self) -> AnswerQuerySet:
        """Return the answers to its questions, with ``is_current``: the document is unchanged."""
        is_current = Q(asked_sha256=F("asked_document__content_sha256"))
        rows = Answer.objects.filter(grid=self, question__in=self.questions)
        return rows.annotate(is_current=ExpressionWrapper(is_current, models.BooleanField()))

    def stale_documents(self) -> DocumentQuerySet:
        """Return its documents of which a question is to be asked, without those being read."""
        of_version = {"asked_document": OuterRef("pk"), "asked_sha256": OuterRef("content_sha256")}
        asked = Answer.objects.filter(grid=self, question__in=self.questions, **of_version)
        per_document = asked.order_by().values("asked_document")
        count = per_document.annotate(count=Count("pk")).values("count")
        rows = self.documents().exclude(status__in=["pending", "processing"])
        counted = rows.annotate(asked_count=Coalesce(Subquery(count), 0))
        return counted.filter(asked_count__lt=len(self.questions))


class AnswerQuerySet(LockableQuerySet["Answer"]):
    def unanswered(self) -> Self:
        """Keep people's questions to the documents that got no answer."""
        return (
            self.filter(text="", grid=None).exclude(kind="erased").exclude(intent__in=NO_QUESTIONS)
        )

    def to_people(self) -> Self:
        """Keep answers that are asked for once, not by a grid or standing question."""
        return self.filter(grid=None, standing=None, standing_before=None)

    def by_question(self) -> models.QuerySet[Any, Any]:
        """Group by question: ``question``, count (``times``), and last time."""
        rows = self.order_by().values("question")
        counted = rows.annotate(times=models.Count("pk"), last=models.Max("created_at"))
        return counted.order_by("-times", "-last")

    def of_session(self, session: Session) -> Self:
        """Keep the answers of a conversation, oldest first."""
        return self.filter(message__session=session).order_by("message__created_at", "message__pk")

    def shown(self) -> Self:
        """Prefetch what an answer object shows, with the state of each citation."""
        citations = Prefetch("citations", queryset=Citation.objects.compared())
        return self.prefetch_related(citations)


class Answer(BoundModel):
    """A stored answer; without text it abstained or was erased.

    Attributes:
        collection: None if all were asked; then it is shown to whom sees all that it quotes.
        quoted_collections: Keys of the collections with the documents that it was written from.
        asked_tags, asked_document: What the question was limited to.
        grid: Whose cell it is; then it is shown to all readers of its collection.
    """

    class Kind(models.TextChoices):
        ANSWER = "answer"
        UNSURE = "unsure"
        ABSTAINED = "abstained"
        ERASED = "erased"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    collection = models.ForeignKey(
        Collection, models.CASCADE, null=True, blank=True, related_name="answers"
    )
    quoted_collections = ArrayField(
        models.BigIntegerField(), default=list, db_default=[], editable=False
    )
    asked_tags = models.JSONField(default=list, db_default=[], blank=True)
    asked_document = models.ForeignKey(
        Document, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    asked_sha256 = models.CharField(
        max_length=64, blank=True, default="", db_default="", help_text="of that document's text"
    )
    # The constraint below is its index.
    grid = models.ForeignKey(
        Grid, models.CASCADE, null=True, blank=True, related_name="answers", db_index=False
    )
    question = models.TextField()
    text = models.TextField(blank=True)
    kind = models.CharField(max_length=20, choices=Kind.choices)
    intent = models.CharField(
        max_length=20, blank=True, default="", db_default="", help_text="what was asked for"
    )
    short_start = models.PositiveIntegerField(
        null=True, help_text="where in the text the few words stand that answer"
    )
    short_end = models.PositiveIntegerField(null=True)
    confidence = models.FloatField()
    estimate = models.FloatField(
        null=True,
        help_text="confidence by the shipped fit in a quote, given or withheld",
    )
    answerer = models.CharField(max_length=200)
    fallback = models.TextField(blank=True, help_text="why another answerer stood in")
    embedding_model = models.CharField(max_length=200)
    configuration_sha256 = models.CharField(max_length=64, help_text="of the settings in force")
    draft: models.JSONField[Any, Any] = models.JSONField(
        null=True, blank=True, help_text="what a language model wrote, and what became of it"
    )
    steps = models.JSONField(default=list, help_text="time, ids and scores of each node")
    # Spans without text: qa.answer_record reads it from the documents.
    closest = models.JSONField(default=list, blank=True, help_text="spans that come nearest")
    disagreement = models.JSONField(default=list, blank=True, help_text="spans that say otherwise")
    unanswered = models.JSONField(
        default=list, blank=True, help_text="parts of the question that have no answer"
    )
    not_about = models.JSONField(
        default=list,
        blank=True,
        db_default=[],
        help_text="names in the question that no quoted document is about",
    )
    created_at = models.DateTimeField(default=timezone.now, editable=False, db_index=True)

    objects = AnswerQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at", "id"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(confidence__gte=0, confidence__lte=1),
                name="answer_confidence_in_unit_interval",
            ),
            models.CheckConstraint(
                condition=models.Q(kind="answer") ^ models.Q(text=""),
                name="answer_kind_fits_its_text",
            ),
            models.UniqueConstraint(
                "grid",
                "asked_document",
                "question",
                condition=Q(grid__isnull=False),
                name="answer_once_in_a_grid",
            ),
        ]

    def __str__(self) -> str:
        return self.question[:80]

    @property
    def short(self) -> str:
        """Return the few words that answer, else the whole text."""
        return self.text[self.short_start : self.short_end]


# An answer after one of its cited documents is deleted: all text is cleared.
ERASED_ANSWER: dict[str, Any] = {
    "kind": Answer.Kind.ERASED,
    "text": "",
    "short_start": None,
    "short_end": None,
    "fallback": "",
    "draft": None,
    "steps": [],
    "closest": [],
    "disagreement": [],
    "unanswered": [],
    "not_about": [],
    "quoted_collections": [],
}


class StandingQuestion(OwnedModel):
    """A question that is asked again when the passages change that may answer it.

    Attributes:
        question: As it stands on its own.
        answer: The answer of now; None if its chat was deleted meanwhile.
        previous: The answer before the last change.
        nearest: SHA-256 of each passage that the search found when it was last asked, best first.
        seen_version: The version of the collection at that time.
        changed_at: None until the answer changes.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    collection = models.ForeignKey(Collection, models.CASCADE, related_name="+")
    question = models.TextField()
    tags = models.JSONField(default=list, blank=True)
    answer = models.ForeignKey(Answer, models.SET_NULL, null=True, related_name="standing")
    previous = models.ForeignKey(Answer, models.SET_NULL, null=True, related_name="standing_before")
    nearest = ArrayField(models.CharField(max_length=64), default=list, editable=False)
    seen_version = ArrayField(models.UUIDField(), default=list, editable=False)
    changed_at = models.DateTimeField(null=True, editable=False)
    is_seen = models.BooleanField(default=True, help_text="false: its change is news to its user")
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ["-created_at", "id"]

    def __str__(self) -> str:
        return self.question[:80]


class CitationQuerySet(models.QuerySet["Citation"]):
    def compared(self) -> Self:
        """Annotate the span's current text, and its context if the version is the same."""
        length = F("end_char") - F("start_char")
        around = F("context_end") - F("context_start")
        same_version = Q(document__content_sha256=F("content_sha256"))
        # Page ranges are stored, except with older answers.
        unplaced = same_version & Q(page__isnull=False, last_page=None)
        return self.annotate(
            standing=Substr("document__content__text", F("start_char") + 1, length),
            surroundings=Case(
                When(
                    same_version, Substr("document__content__text", F("context_start") + 1, around)
                )
            ),
            packed_scan=Case(
                When(unplaced, KeyTextTransform("scanned", "document__content__outline"))
            ),
            page_starts=Case(When(unplaced, KeyTransform("pages", "document__content__outline"))),
            preview=F("chunk__text_preview"),
            in_collection=F("document__collection"),
            file_path=Coalesce(F("document__file_path"), Value("")),
        )


class Citation(models.Model):
    """A verbatim span of a document version; verifiable after the document has changed."""

    answer = models.ForeignKey(Answer, models.CASCADE, related_name="citations", db_index=False)
    ordinal = models.PositiveIntegerField()
    document = models.ForeignKey(
        Document, models.SET_NULL, related_name="citations", null=True, blank=True
    )
    chunk = models.ForeignKey(
        Chunk, models.SET_NULL, related_name="citations", null=True, blank=True
    )
    content_sha256 = models.CharField(max_length=64)
    title = models.CharField(max_length=512, blank=True)
    source_uri = models.CharField(max_length=2048, blank=True)
    heading_path = models.JSONField(default=list)
    page = models.PositiveIntegerField(null=True, blank=True)
    last_page = models.PositiveIntegerField(
        null=True, help_text="not known of answers that were given before it was kept"
    )
    ocr_confidence = models.FloatField(null=True, help_text="of the quote, if OCR read it")
    document_date = models.CharField(
        max_length=10, blank=True, default="", db_default="", help_text="a day, month or year"
    )
    quote = models.TextField(blank=True)
    is_selected = models.BooleanField(
        default=False, help_text="of a text that came with the question, not of a document"
    )
    start_char = models.PositiveIntegerField()
    end_char = models.PositiveIntegerField()
    context_start = models.PositiveIntegerField(
        null=True, help_text="where the paragraph or list begins that the quote stands in"
    )
    context_end = models.PositiveIntegerField(null=True)
    answer_start = models.PositiveIntegerField()
    answer_end = models.PositiveIntegerField()
    score = models.FloatField()
    support = models.CharField(max_length=20)

    objects = CitationQuerySet.as_manager()

    class Meta:
        ordering = ["answer", "ordinal"]
        constraints = [
            models.UniqueConstraint("answer", "ordinal", name="citation_ordinal_unique"),
            models.CheckConstraint(
                condition=models.Q(end_char__gt=models.F("start_char")),
                name="citation_span_is_not_empty",
            ),
        ]
        indexes = [
            models.Index(
                fields=["answer"],
                condition=models.Q(is_selected=True) & ~models.Q(quote=""),
                name="citation_of_selected_text",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.document_id}[{self.start_char}:{self.end_char}]"


# A citation of a deleted document keeps only its span and version.
ERASED_CITATION: dict[str, Any] = {
    "quote": "",
    "title": "",
    "source_uri": "",
    "heading_path": [],
    "document_date": "",
}


class SessionQuerySet(LockableQuerySet["Session"]):
    def expired(self) -> Self:
        """Keep sessions unused for ``PKB_SESSION_MINUTES``.

        Of saved ones, only those without a message.
        """
        oldest = timezone.now() - timedelta(minutes=settings.PKB_SESSION_MINUTES)
        messages = Message.objects.filter(session=OuterRef("pk"))
        return self.filter(Q(is_kept=False) | ~Exists(messages), last_used_at__lt=oldest)

    def listed(self) -> Self:
        """Keep saved conversations, with ``first_question`` and ``question_count``."""
        messages = Message.objects.filter(session=OuterRef("pk"))
        first = messages.order_by("created_at", "pk").values("answer__question")[:1]
        # A subquery per shown row: a join would count all rows first.
        count = messages.order_by().values("session").annotate(count=Count("pk")).values("count")
        rows = self.filter(Exists(messages), is_kept=True)
        return rows.annotate(first_question=Subquery(first), question_count=Subquery(count))

    def mentioning(self, text: str) -> Self:
        """Keep those whose name, questions or answers contain a text, in any case."""
        messages = Message.objects.filter(
            Q(answer__question__icontains=text) | Q(answer__text__icontains=text),
            session=OuterRef("pk"),
        )
        return self.filter(Q(name__icontains=text) | Exists(messages))


class Session(BoundModel):
    """A conversation; unless saved, it expires ``PKB_SESSION_MINUTES`` after its last use."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    is_kept = models.BooleanField(default=False, help_text="listed, and stays until it is deleted")
    name = models.CharField(
        max_length=200, blank=True, help_text="empty: it is called by its first question"
    )
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    last_used_at = models.DateTimeField(default=timezone.now, db_index=True)

    objects = SessionQuerySet.as_manager()

    class Meta:
        ordering = ["-last_used_at", "id"]

    def __str__(self) -> str:
        return str(self.pk)

    @property
    def shown_name(self) -> str:
        """Return its name, else its first question; needs ``listed``."""
        return self.name or str(getattr(self, "first_question", "") or self.pk)


class Message(models.Model):
    """A question of a session with its answer."""

    session = models.ForeignKey(Session, models.CASCADE, related_name="messages")
    answer = models.OneToOneField(Answer, models.CASCADE, related_name="message")
    # The answer has the original question; follow-ups are completed from this one.
    searched = models.TextField(help_text="the question as it stands on its own")
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ["session", "created_at", "id"]

    def __str__(self) -> str:
        return self.searched[:80]


# How long an ended stream can be resumed.
RESUME_TIME = timedelta(minutes=5)
# An unfinished stream this old belonged to a killed process.
MAX_STREAM_TIME = timedelta(hours=2)


class ChatStreamQuerySet(models.QuerySet["ChatStream"]):
    def expired(self) -> Self:
        """Keep streams that cannot be read again."""
        return self.filter(self._has_expired())

    def readable(self) -> Self:
        """Keep streams that can be read again."""
        return self.exclude(self._has_expired())

    @staticmethod
    def _has_expired() -> Q:
        now = timezone.now()
        is_old = Q(created_at__lt=now - MAX_STREAM_TIME)
        return is_old | Q(finished_at__isnull=False, finished_at__lt=now - RESUME_TIME)


class ChatStream(models.Model):
    """The events of one streamed answer, stored for a while so that a client can resume."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    session = models.ForeignKey(Session, models.CASCADE, related_name="streams")
    answer = models.ForeignKey(Answer, models.CASCADE, related_name="streams", null=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False, db_index=True)
    finished_at = models.DateTimeField(null=True)

    objects = ChatStreamQuerySet.as_manager()

    def __str__(self) -> str:
        return str(self.pk)


class ChatEvent(models.Model):
    """A sent event; one with words of a document is deleted with it.

    The last event, ``done``, has no body: it is created from the stored answer.
    """

    stream = models.ForeignKey(ChatStream, models.CASCADE, related_name="events", db_index=False)
    ordinal = models.PositiveIntegerField(help_text="its id in the stream, from 1")
    kind = models.CharField(max_length=20)
    body: models.JSONField[Any, Any] = models.JSONField()
    document = models.ForeignKey(Document, models.CASCADE, null=True, related_name="+")

    class Meta:
        ordering = ["stream", "ordinal"]
        constraints = [
            models.UniqueConstraint("stream", "ordinal", name="chat_event_ordinal_unique"),
        ]

    def __str__(self) -> str:
        return f"{self.ordinal} {self.kind}"


class FeedbackQuerySet(models.QuerySet["Feedback"]):
    def to_review(self) -> Self:
        return self.filter(review="waiting")


class Feedback(models.Model):
    """Feedback on an answer; accepted, it becomes a question of the evaluation."""

    class Rating(models.TextChoices):
        UP = "up"
        DOWN = "down"

    class Review(models.TextChoices):
        WAITING = "waiting"
        ACCEPTED = "accepted"
        DISMISSED = "dismissed"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    answer = models.ForeignKey(Answer, models.CASCADE, related_name="feedback")
    rating = models.CharField(max_length=10, choices=Rating.choices)
    comment = models.TextField(blank=True)
    # The passage marked as right, if any: its span, without its text.
    document = models.ForeignKey(
        Document, models.SET_NULL, related_name="feedback", null=True, blank=True
    )
    content_sha256 = models.CharField(max_length=64, blank=True, default="", db_default="")
    start_char = models.PositiveIntegerField(null=True, blank=True)
    end_char = models.PositiveIntegerField(null=True, blank=True)
    review = models.CharField(max_length=20, choices=Review.choices, default=Review.WAITING)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    reviewed_at = models.DateTimeField(null=True, blank=True)

    objects = FeedbackQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at", "id"]
        verbose_name_plural = "feedback"
        indexes = [models.Index("review", "created_at", name="feedback_review")]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(rating__in=["up", "down"]), name="feedback_rating_is_known"
            ),
            models.CheckConstraint(
                condition=models.Q(review="waiting", reviewed_at=None)
                | (~models.Q(review="waiting") & models.Q(reviewed_at__isnull=False)),
                name="feedback_review_has_its_time",
            ),
            models.CheckConstraint(
                condition=models.Q(document=None, content_sha256="", start_char=None, end_char=None)
                | models.Q(
                    ~models.Q(content_sha256=""),
                    start_char__isnull=False,
                    end_char__isnull=False,
                    end_char__gt=models.F("start_char"),
                ),
                name="feedback_passage_is_whole_or_none",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.rating} for {self.answer_id}"
