"""Websites and single pages that pkb keeps in sync."""

import uuid
from typing import Any

from django.db import models
from django.db.models import Max, Q
from django.db.models.functions import MD5
from django.utils import timezone


class SiteQuerySet(models.QuerySet["Site"]):
    def remaining_delay_s(self, host: str) -> float:
        """Return the seconds until the next request to a host is allowed."""
        latest = self.filter(host=host).aggregate(at=Max("rests_until"))["at"]
        return max((latest - timezone.now()).total_seconds(), 0.0) if latest else 0.0


class Site(models.Model):
    """A website, or a single page, of a collection.

    Attributes:
        address: The URL of the first page; pages below its folder belong to the site.
        is_whole: Links and sitemaps are followed; else the site is this one page.
        depth: Maximum number of links from the first page.
        max_pages: Maximum number of URLs requested by each job.
        every_hours: Hours between two refreshes; None: only on request.
        due_at: When the next refresh begins.
        host: Host of the URL; it gets one request at a time.
        rests_until: Earliest time of the next request to the host.
        delay_s: Seconds between two requests, by the settings and the site's robots.txt.
        robots: The site's robots.txt, as the last job read it.
        opened_by: The job that has read robots.txt and the sitemaps.
        job: The last job.
        request_count, received_bytes: Of the last job.
        failure_count: Consecutive requests without a response.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    address = models.CharField(max_length=2048)
    is_whole = models.BooleanField(default=True)
    depth = models.PositiveSmallIntegerField()
    max_pages = models.PositiveIntegerField()
    every_hours = models.PositiveIntegerField(null=True, blank=True)
    due_at = models.DateTimeField(null=True, blank=True)
    tags: "models.JSONField[Any, Any]" = models.JSONField(default=list, blank=True)
    collection = models.ForeignKey("corpus.Collection", models.CASCADE, related_name="sites")
    host = models.CharField(max_length=300)
    rests_until = models.DateTimeField(null=True, blank=True)
    delay_s = models.FloatField(default=0)
    robots = models.TextField(blank=True, default="")
    opened_by = models.UUIDField(null=True, blank=True)
    job = models.ForeignKey("corpus.Job", models.SET_NULL, null=True, related_name="+")
    request_count = models.PositiveIntegerField(default=0)
    received_bytes = models.PositiveBigIntegerField(default=0)
    failure_count = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    objects = SiteQuerySet.as_manager()

    class Meta:
        ordering = ["created_at", "id"]
        constraints = [
            # A URL may be too long for an index.
            models.UniqueConstraint("collection", MD5("address"), name="site_once"),
        ]
        indexes = [
            models.Index("host", name="site_host"),
            models.Index("due_at", condition=Q(due_at__isnull=False), name="site_due"),
        ]

    def __str__(self) -> str:
        return self.address


class SitePage(models.Model):
    """A URL of a site.

    Attributes:
        digest: SHA-256 of the normalized URL.
        depth: Number of links from the first page, as far as known.
        links: Normalized URLs of the site that the page links to.
        moved_to: The target of a permanent redirect.
        listed_by: The last job that listed or skipped the page.
        read_by: The last job that read its links; None if they are unknown.
        document: The document of the page; deleting it deletes this row.
    """

    site = models.ForeignKey(Site, models.CASCADE, related_name="pages", db_index=False)
    digest = models.CharField(max_length=64)
    address = models.CharField(max_length=2048)
    depth = models.PositiveSmallIntegerField()
    links: "models.JSONField[Any, Any]" = models.JSONField(default=list, blank=True)
    moved_to = models.CharField(max_length=2048, blank=True, default="")
    listed_by = models.UUIDField(null=True, blank=True)
    read_by = models.UUIDField(null=True, blank=True)
    document = models.ForeignKey(
        "corpus.Document", models.CASCADE, null=True, blank=True, related_name="site_pages"
    )

    class Meta:
        ordering = ["id"]
        constraints = [models.UniqueConstraint("site", "digest", name="site_page_once")]

    def __str__(self) -> str:
        return self.address
