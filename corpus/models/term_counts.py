from django.db import models


class TermCount(models.Model):
    """Counts of chunks that contain a word: the sum of its rows. Triggers write them.

    The row of the empty lexeme counts all chunks, and their tokens.
    """

    # No foreign key: triggers append rows while a collection is being deleted.
    collection_id = models.BigIntegerField()
    lexeme = models.TextField()
    chunk_count = models.BigIntegerField()
    token_count = models.BigIntegerField()

    class Meta:
        indexes = [models.Index("collection_id", "lexeme", name="term_count_lookup")]

    def __str__(self) -> str:
        return f"{self.lexeme}: {self.chunk_count}"
