"""What is kept of a deleted text: enough to look for what is left of it, not to read it."""

from datetime import timedelta
from typing import Self

from django.conf import settings
from django.db import models
from django.utils import timezone


class TombstoneQuerySet(models.QuerySet["Tombstone"]):
    def expired(self) -> Self:
        """Keep what is older than ``PKB_TOMBSTONE_DAYS``."""
        oldest = timezone.now() - timedelta(days=settings.PKB_TOMBSTONE_DAYS)
        return self.filter(erased_at__lt=oldest)


class Tombstone(models.Model):
    """Keyed hashes of a text that was deleted, by which left-overs are found.

    Attributes:
        content_sha256: Of the text.
        seal: The keyed hash of ``content_sha256``; by another key nothing would be found.
        width: Words of a shingle: fewer than usual for a text that has no more.
        hashes: 8 bytes for each shingle that is kept, sorted.
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
