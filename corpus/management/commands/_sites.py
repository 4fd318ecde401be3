"""The part of `manage.py ingest` that syncs URLs."""

import re
from collections.abc import Callable
from typing import Any

from django.core.management.base import CommandError, CommandParser

from corpus.errors import PkbError
from corpus.ingestion.decisions import failed_result
from corpus.management.commands._job_run import run_job_here
from corpus.management.commands._report import Report
from corpus.models import Collection, Job
from corpus.sites import (
    DEFAULT_DEPTH,
    DEFAULT_PAGES,
    MAX_DEPTH,
    MAX_HOURS,
    SiteLimits,
    add_site,
    refresh_site,
)

_EVERY = re.compile(r"(\d{1,4})([hd]?)")
_HOURS = {"h": 1, "": 1, "d": 24}


def add_site_arguments(parser: CommandParser) -> None:
    group = parser.add_argument_group("of addresses")
    group.add_argument(
        "--crawl",
        action="store_true",
        help="import the whole site: pages of its sitemap, and links within its folder",
    )
    group.add_argument(
        "--depth", type=int, default=DEFAULT_DEPTH, help="steps of links from the first page"
    )
    group.add_argument(
        "--max-pages", type=int, default=DEFAULT_PAGES, help="maximum number of pages"
    )
    group.add_argument(
        "--every", default="", metavar="24h", help="update it on schedule, such as 24h or 7d"
    )


def read_limits(options: dict[str, Any]) -> SiteLimits | None:
    """Return the limits of a sync, or None if URLs are ingested once.

    Raises:
        CommandError: A value is out of range.
    """
    if not 0 <= options["depth"] <= MAX_DEPTH:
        raise CommandError(f"--depth must be from 0 to {MAX_DEPTH}.", returncode=2)
    if options["max_pages"] < 1:
        raise CommandError("--max-pages must be at least 1.", returncode=2)
    every_hours = None
    if options["every"]:
        interval = _EVERY.fullmatch(options["every"])
        every_hours = int(interval[1]) * _HOURS[interval[2]] if interval else 0
        if not 1 <= every_hours <= MAX_HOURS:
            message = f"--every must be from 1h to {MAX_HOURS}h, or in days, such as 7d."
            raise CommandError(message, returncode=2)
    if not options["crawl"] and every_hours is None:
        return None
    return SiteLimits(options["crawl"], options["depth"], options["max_pages"], every_hours)


def sync_site(
    url: str,
    limits: SiteLimits,
    *,
    collection: Collection,
    tags: tuple[str, ...],
    report: Report,
    should_stop: Callable[[], bool],
) -> None:
    """Add a site, and sync it in this process."""
    try:
        site, _ = add_site(url, limits, collection=collection, tags=tags)
    except PkbError as exc:
        report.add(url, failed_result(exc))
        return
    job: Job = refresh_site(site.pk, background=False)
    if job.is_background:
        raise CommandError(f"A worker is already importing {url}: job {job.pk}.", returncode=1)
    run_job_here(job, workers=1, report=report, should_stop=should_stop)
    report.add_errors(job)
