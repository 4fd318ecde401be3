"""Which files that were sent are to go, where the host that keeps them has still to be told."""

from django.db import models


class DroppedFile(models.Model):
    """A file whose document another host has deleted; in the transaction that deleted that.

    Attributes:
        folder: The name of its folder below the uploads: drawn at random, it says nothing.
    """

    folder = models.CharField(max_length=32, primary_key=True)

    def __str__(self) -> str:
        return self.folder
