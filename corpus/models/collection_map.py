"""The two-dimensional map of a collection."""

from typing import Any

from django.db import models


class CollectionMap(models.Model):
    """Coordinates of the chunks of a collection in two dimensions, without their text."""

    collection = models.OneToOneField("corpus.Collection", models.CASCADE, related_name="map")
    model = models.CharField(max_length=200)
    points: "models.JSONField[Any, Any]" = models.JSONField(
        help_text="chunk_id, x and y of each; x and y in [0, 1]"
    )
    variance_share = models.FloatField(help_text="of the vectors' variance, kept by the two")
    computed_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"map of {self.collection_id}"
