"""Keyed hashes of deleted texts, to search for leftovers."""

from datetime import timedelta
from typing import Self

from django.conf import settings
from django.db import models
from django.utils import timezone


class TombstoneQuerySet(models.QuerySet["Tombstone"]):
    def expired(self) -> Self:
        """Keep tombstones that are older than ``PKB_TOMBSTONE_DAYS``."""
        oldest = timezone.now() - timedelta(days=settings.PKB_TOMBSTONE_DAYS)
        return self.filter(erased_at__lt=oldest)


class Tombstone(models.Model):
    """Keyed hashes of a deleted text, by which leftovers are found.

    Attributes:
        content_sha256: Of the text.
        seal: The keyed hash of ``content_sha256``, to detect a changed key.
        width: Words of a shingle; fewer than usual for a short text.
        hashes: 8 bytes for each stored shingle, sorted.
    """

    content_sha256 = models.CharField(max_length=64, db_index=True)
    seal = models.BinaryField()
    width = models.PositiveSmallIntegerField()
    hashes = models.BinaryField()
    erased_at = models.DateTimeField(default=timezone.now, editable=False, db_index=True)

    objects = TombstoneQuerySet.as_manager()

    class Meta:
        ordering = ["-erased_at", "-id"]

    def __str__(self) -> str:
        return self.content_sha256
