"""Sites, and single pages, that are kept in step with what they are today."""

import uuid
from typing import Any

from django.db import models
from django.db.models import Max, Q, QuerySet
from django.db.models.functions import MD5
from django.utils import timezone


class SiteQuerySet(models.QuerySet["Site"]):
    def due(self) -> "QuerySet[Site]":
        """Keep those whose time for a refresh has come."""
        return self.filter(due_at__lte=timezone.now())

    def remaining_delay_s(self, host: str) -> float:
        """Return how many seconds a host is still to be left in peace."""
        latest = self.filter(host=host).aggregate(at=Max("rests_until"))["at"]
        return max((latest - timezone.now()).total_seconds(), 0.0) if latest else 0.0


class Site(models.Model):
    """A site that a collection has pages of, or one page.

    Attributes:
        address: Where it begins; of a whole site, what lies in its folder belongs to it.
        is_whole: Its links and sitemaps are followed; else it is that one page.
        depth: How many links away from the first page others may be.
        max_pages: How many addresses are asked for at most, each time.
        every_hours: Between two refreshes; without, somebody asks for each.
        due_at: When the next one is to begin.
        host: Of the address; one request at a time is made of it.
        rests_until: Before then nothing more is asked of the host.
        delay_s: Between two requests, as the settings and the site say.
        robots: The site's robots.txt, as it was read for the last job.
        opened_by: The job that has read that and the sitemaps.
        job: The last one.
        request_count: Of the last job, and so ``received_bytes``.
        failure_count: Requests in a row that were not answered.
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
            # An address may be longer than what an index takes.
            models.UniqueConstraint("collection", MD5("address"), name="site_once"),
        ]
        indexes = [
            models.Index("host", name="site_host"),
            models.Index("due_at", condition=Q(due_at__isnull=False), name="site_due"),
        ]

    def __str__(self) -> str:
        return self.address


class SitePage(models.Model):
    """An address of a site, and what is known of it.

    Attributes:
        digest: SHA-256 of what addresses have in common that name the same page.
        depth: How many links it is away from the first page, as far as is known.
        links: Tidy addresses of the site that it leads to.
        moved_to: Where it leads to for good, by its server.
        listed_by: The last job that has it among its items, or passed it over.
        read_by: The last job that knows its links; none does where they are not known.
        document: What was taken in from it; it goes with that.
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
