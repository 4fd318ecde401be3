"""Folders whose changes start a sync of them."""

from typing import Any

from django.db import models
from django.db.models.functions import MD5
from django.utils import timezone


class WatchedFolder(models.Model):
    """A folder that a collection mirrors as it changes, while a worker runs.

    Attributes:
        path: Absolute, with no link in it.
        root: The allowed folder that it lies in, where somebody named it over HTTP.
        is_set: ``PKB_WATCH`` names it, and it goes when that does not any more.
        state: As the worker saw it last.
        mounts: Where something was mounted in it when it was synced; what is not there any more
            counts as unmounted, not as deleted.
        job: The sync that was started last.
    """

    class State(models.TextChoices):
        NEW = "new"
        WATCHED = "watched"
        POLLED = "polled"
        MISSING = "missing"

    path = models.CharField(max_length=4096)
    root = models.CharField(max_length=4096, blank=True, default="")
    is_set = models.BooleanField(default=False)
    state = models.CharField(max_length=20, choices=State.choices, default=State.NEW)
    mounts: "models.JSONField[Any, Any]" = models.JSONField(default=list, blank=True)
    collection = models.ForeignKey("corpus.Collection", models.CASCADE, related_name="watched")
    job = models.ForeignKey("corpus.Job", models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ["id"]
        constraints = [
            # A path may be longer than what an index takes.
            models.UniqueConstraint("collection", MD5("path"), name="watched_folder_once"),
        ]

    def __str__(self) -> str:
        return self.path
