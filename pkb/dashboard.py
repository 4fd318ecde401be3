"""What the admin begins with: counts, and its sections by use."""

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
from pkb.status.standby import Standby
from pkb.status.state import State, read_state
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
    state = read_state()
    return {
        **context,
        "counts": counts,
        "problems": [found.detail for found in state.find_problems()],
        "lines": [*describe_state(state), describe_backups(state.backups)],
    }


def describe_state(state: State) -> Iterator[str]:
    """Yield a line on the workers, one on the standby if there is one, and one on the disks."""
    if state.workers is not None and state.backlog is not None:
        heard = [f"{worker.id} ({worker.silent.seconds} s ago)" for worker in state.workers]
        names = ", ".join(heard) or "none"
        waiting = state.backlog.waiting_count
        yield f"Workers, and when each was heard of: {names}; tasks that wait for one: {waiting}."
    if state.standby is not None:
        yield describe_standby(state.standby)
    left = [f"{filesizeformat(disk.free_bytes)} ({disk.use})" for disk in state.disks]
    yield f"Left on the disks: {', '.join(left)}."


def describe_standby(standby: Standby) -> str:
    """A line on what searches read of the standby."""
    is_read = "is read" if standby.is_used else f"is not read ({standby.reason or 'unknown'})"
    fallback_count = sum(each.read_count for each in standby.fallbacks)
    return (
        f"The standby {is_read}; since this process began it answered {standby.read_count} times,"
        f" and the primary in its place {fallback_count} times."
    )


def describe_backups(found: Backups | None) -> str:
    """A line on the backups that workers make."""
    if found is None:
        return "No backups are made: PKB_BACKUP_DIR is not set."
    last = f"{timesince(found.last)} ago" if found.last else "never"
    line = f"Last good backup: {last}; {len(found.times)} are kept."
    return f"{line} The last try failed: {found.failure}" if found.failure else line


# What is not named here, the queue of the workers among it, comes after what is.
SECTIONS = ["corpus", "qa", "evaluation", "auth", "accounts"]
MODELS = [
    "Document", "Collection", "Tag", "Rule", "Chunk", "Embedding", "Job", "JobItem",
    "CollectionMap", "Answer", "Feedback", "Session",
]  # fmt: skip


class Site(UnfoldAdminSite):
    """Lists what is used most first, and what keeps the rest going last."""

    def get_app_list(self, request: HttpRequest, app_label: str | None = None) -> list[Any]:
        sections = super().get_app_list(request, app_label)
        for section in sections:
            section["models"].sort(key=lambda model: _place(model["object_name"], MODELS))
        return sorted(sections, key=lambda section: _place(section["app_label"], SECTIONS))


def _place(name: str, order: list[str]) -> int:
    return order.index(name) if name in order else len(order)
