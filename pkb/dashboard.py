"""Admin home page: counts, problems, and models grouped by use."""

from collections.abc import Iterator
from typing import Any

from django.http import HttpRequest
from django.template.defaultfilters import filesizeformat
from django.urls import reverse
from django.utils.timesince import timesince
from unfold.sites import UnfoldAdminSite

from corpus.catalogue import count_stored
from corpus.models import Document, Job
from pkb.backup.rotation import Backups
from pkb.status.service_status import State, read_state
from qa import models
from qa.models import Feedback


def add_counts(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """Add counts, problems and status lines to the context of the home page; called by unfold."""
    stored = count_stored()
    failed = Document.objects.filter(status=Document.Status.FAILED).count()
    running = Job.objects.unfinished().count()
    unanswered = models.Answer.objects.unanswered().count()
    waiting = Feedback.objects.to_review().count()
    rows = [
        ("Documents", stored.document_count, f"{failed} failed", "corpus_document"),
        ("Chunks", stored.chunk_count, "", "corpus_chunk"),
        ("Jobs", Job.objects.count(), f"{running} unfinished", "corpus_job"),
        ("Answers", models.Answer.objects.count(), f"{unanswered} abstained", "qa_answer"),
        ("Feedback", Feedback.objects.count(), f"{waiting} to review", "qa_feedback"),
    ]
    counts = [
        {"name": n, "value": v, "note": note, "url": reverse(f"admin:{u}_changelist")}
        for n, v, note, u in rows
    ]
    state = read_state()
    return {
        **context,
        "counts": counts,
        "problems": [finding.detail for finding in state.find_problems()],
        "lines": [*describe_state(state), describe_backups(state.backups)],
    }


def describe_state(state: State) -> Iterator[str]:
    """Yield lines about the workers and the disks."""
    if state.workers is not None and state.backlog is not None:
        workers = [f"{worker.id} ({worker.silent.seconds} s ago)" for worker in state.workers]
        names = ", ".join(workers) or "none"
        waiting = state.backlog.waiting_count
        yield f"Workers and their last heartbeats: {names}; waiting tasks: {waiting}."
    spaces = [f"{filesizeformat(disk.free_bytes)} ({disk.use})" for disk in state.disks]
    yield f"Free disk space: {', '.join(spaces)}."


def describe_backups(backups: Backups | None) -> str:
    if backups is None:
        return "Automatic backups are off: PKB_BACKUP_DIR is not set."
    last = f"{timesince(backups.last)} ago" if backups.last else "never"
    line = f"Last good backup: {last}; {len(backups.times)} backups."
    return f"{line} The last attempt failed: {backups.failure}" if backups.failure else line


# Other apps and models, such as the worker queue, come last.
SECTIONS = ["corpus", "qa", "evaluation", "auth", "accounts"]
MODELS = [
    "Document", "Collection", "Tag", "Rule", "Chunk", "Embedding", "Job", "JobItem",
    "Answer", "Feedback", "Session",
]  # fmt: skip


class Site(UnfoldAdminSite):
    """Admin site that lists the most used apps and models first."""

    def get_app_list(self, request: HttpRequest, app_label: str | None = None) -> list[Any]:
        sections = super().get_app_list(request, app_label)
        for section in sections:
            section["models"].sort(key=lambda model: _position(model["object_name"], MODELS))
        return sorted(sections, key=lambda section: _position(section["app_label"], SECTIONS))


def _position(name: str, order: list[str]) -> int:
    return order.index(name) if name in order else len(order)
