"""The counts that the admin begins with."""

from typing import Any

from django.http import HttpRequest
from django.urls import reverse

from corpus.catalogue import count_stored
from corpus.models import Document, Job
from qa import models
from qa.models import Feedback


def add_counts(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """Add ``counts`` to the context of the admin's first page; called by unfold."""
    stored = count_stored()
    failed = Document.objects.filter(status=Document.Status.FAILED).count()
    running = Job.objects.unfinished().count()
    unanswered = models.Answer.objects.unanswered().count()
    waiting = Feedback.objects.to_review().count()
    rows = [
        ("Documents", stored.document_count, f"{failed} failed", "corpus_document"),
        ("Chunks", stored.chunk_count, "", "corpus_chunk"),
        ("Jobs", Job.objects.count(), f"{running} not finished", "corpus_job"),
        ("Answers", models.Answer.objects.count(), f"{unanswered} abstained", "qa_answer"),
        ("Feedback", Feedback.objects.count(), f"{waiting} to review", "qa_feedback"),
    ]
    counts = [
        {"name": n, "value": v, "note": note, "url": reverse(f"admin:{u}_changelist")}
        for n, v, note, u in rows
    ]
    return {**context, "counts": counts}
