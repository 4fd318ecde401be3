"""Running and recent jobs for the library page."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from django.http import HttpRequest
from django.utils import timezone

from corpus.models import Document, Job, JobItem

# Jobs that ended this recently are still shown beside those that run.
RECENTLY = timedelta(minutes=10)
JOBS_SHOWN = 12
# When finished work was cleared, in seconds since 1970, in the browser that did.
CLEARED = "work_cleared"
_SAME_AS = re.compile(r"is stored as document ([0-9a-f-]{36})\.$")


def read_work(request: HttpRequest) -> list[Job]:
    """Return the jobs to be shown, newest first, with ``shown_items``."""
    cleared = request.COOKIES.get(CLEARED, "")
    # Ten digits last until 2286.
    seconds = int(cleared) if cleared.isdecimal() and len(cleared) <= 10 else 0  # noqa: PLR2004
    since = max(timezone.now() - RECENTLY, datetime.fromtimestamp(seconds, tz=UTC))
    jobs = list(Job.objects.shown_since(since)[:JOBS_SHOWN])
    name_documents([item for job in jobs for item in job.shown_items])  # type: ignore[attr-defined]
    return jobs


def name_documents(items: Sequence[JobItem]) -> None:
    """Give items their documents: ``about``, and ``twin`` where that has the same content.

    Both are None where there is none, or none any more.
    """
    same = {item: _SAME_AS.search(item.reason) for item in items}
    twins = {item: match[1] for item, match in same.items() if match}
    about = {item: str(item.document_id) for item in items if item.document_id and not item.path}
    documents = Document.objects.listed().in_bulk({*twins.values(), *about.values()})
    by_key = {str(key): document for key, document in documents.items()}
    for item in items:
        item.twin = by_key.get(twins.get(item, ""))  # type: ignore[attr-defined]
        item.about = by_key.get(about.get(item, ""))  # type: ignore[attr-defined]
