"""Folders that pkb keeps in sync."""

from typing import Any

from django.db import models
from django.db.models.functions import MD5
from django.utils import timezone


class WatchedFolder(models.Model):
    """A folder that a worker keeps in sync with a collection.

    Attributes:
        path: Absolute, without symbolic links.
        root: The allowed folder above it, if it was added over HTTP.
        is_set: It comes from ``PKB_WATCH``, and is deleted when that does not contain it.
        state: As the worker last saw it.
        mounts: Mount points below it at the last sync; files of one that is missing count as
            unmounted, not as deleted.
        job: The last sync.
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
            # A path may be too long for an index.
            models.UniqueConstraint("collection", MD5("path"), name="watched_folder_once"),
        ]

    def __str__(self) -> str:
        return self.path
