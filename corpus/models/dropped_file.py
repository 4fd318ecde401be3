"""Uploaded files that the host which stores them has still to delete."""

from django.db import models


class DroppedFile(models.Model):
    """An uploaded file whose document another host has deleted, in the same transaction.

    Attributes:
        folder: The random name of its folder below the uploads.
    """

    folder = models.CharField(max_length=32, primary_key=True)

    def __str__(self) -> str:
        return self.folder
