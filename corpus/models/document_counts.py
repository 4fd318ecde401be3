from django.db import connection, models, transaction

# Instead of a tag: all documents that are stored, whatever they carry.
ANY_TAG = 0

# What is added up is what this statement itself took away: rows that are appended meanwhile stay.
_ADD_UP = """
WITH appended AS (
  DELETE FROM corpus_documentcount c USING (
    SELECT collection_id, tag_id FROM corpus_documentcount
     GROUP BY collection_id, tag_id HAVING count(*) > 1) several
   WHERE c.collection_id = several.collection_id AND c.tag_id = several.tag_id
  RETURNING c.*
)
INSERT INTO corpus_documentcount (collection_id, tag_id, document_count, chunk_count)
SELECT collection_id, tag_id, sum(document_count), sum(chunk_count) FROM appended
 GROUP BY collection_id, tag_id HAVING sum(document_count) <> 0 OR sum(chunk_count) <> 0
"""
# Of two at a time each would add up what it sees of the other's rows; and who deletes a collection
# or a tag has some of the rows until that is committed.
_ONE_AT_A_TIME = "SELECT pg_try_advisory_xact_lock(0x706b625f6463)"
_WAIT = "SELECT pg_advisory_xact_lock(0x706b625f6463)"


class DocumentCount(models.Model):
    """Documents and chunks that carry a tag, added up over its rows; written by triggers.

    The rows of ``ANY_TAG`` count the documents of a collection that have a text, and no chunks.
    """

    # No foreign keys: triggers append rows while a collection is being deleted.
    collection_id = models.BigIntegerField()
    tag_id = models.BigIntegerField()
    document_count = models.BigIntegerField()
    chunk_count = models.BigIntegerField()

    class Meta:
        indexes = [models.Index("collection_id", "tag_id", name="document_count_lookup")]

    def __str__(self) -> str:
        return f"tag {self.tag_id} of {self.collection_id}: {self.document_count}"


def compact_document_counts() -> int:
    """Add up the rows of each tag; what is appended meanwhile stays beside the sum.

    Returns:
        The rows that were written; none while others add up, or forget.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_ONE_AT_A_TIME)
        if cursor.fetchone() == (False,):
            return 0
        cursor.execute(_ADD_UP)
        return int(cursor.rowcount)


def lock_document_counts() -> None:
    """Keep others from adding up, forgetting or mending them until the transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute(_WAIT)
