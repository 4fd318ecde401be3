"""Token vectors of chunks, for the late-interaction reranker."""

from django.contrib.postgres.indexes import HashIndex
from django.db import models
from django.db.models import Q

from corpus.querysets import TokenVectorsQuerySet


class TokenVectors(models.Model):
    """One vector for each token of a chunk's text with the document's title before it.

    A trigger deletes them when the title changes.

    Attributes:
        model: The model and packing (``TokenEmbedder.packed_name``).
        packed: Stored out of the row and uncompressed, since it does not compress.
    """

    chunk = models.ForeignKey(
        "corpus.Chunk", models.CASCADE, related_name="token_vectors", db_index=False
    )
    model = models.CharField(max_length=200)
    input_sha256 = models.CharField(max_length=64, help_text="of the text as it was encoded, hex")
    token_count = models.PositiveIntegerField(help_text="special tokens counted")
    packed = models.BinaryField()

    objects = TokenVectorsQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint("chunk", "model", name="token_vectors_once_per_model"),
            models.CheckConstraint(
                condition=Q(token_count__gt=0), name="token_vectors_are_of_tokens"
            ),
        ]
        # Finds texts that were encoded before.
        indexes = [HashIndex(fields=["input_sha256"], name="token_vectors_input")]

    def __str__(self) -> str:
        return f"{self.token_count} tokens of {self.chunk_id} by {self.model}"
