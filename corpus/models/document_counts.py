from django.db import connection, models, transaction

# In place of a tag id: all stored documents, with or without tags.
ANY_TAG = 0

# The statement adds up only the rows that it deletes: rows that are appended meanwhile stay.
_SUM_UP = """
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
# Two concurrent runs would add up each other's rows, and a transaction that deletes a collection
# or a tag locks some rows until its commit.
_ONE_AT_A_TIME = "SELECT pg_try_advisory_xact_lock(0x706b625f6463)"
_WAIT = "SELECT pg_advisory_xact_lock(0x706b625f6463)"


class DocumentCount(models.Model):
    """Counts of documents and chunks with a tag: the sum of its rows. Triggers write them.

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
    """Replace the rows of each tag by their sum; rows that are appended meanwhile stay.

    Returns:
        The number of rows written; 0 while another transaction changes the counts.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_ONE_AT_A_TIME)
        if cursor.fetchone() == (False,):
            return 0
        cursor.execute(_SUM_UP)
        return int(cursor.rowcount)


def lock_document_counts() -> None:
    """Lock the counts against other compactions, deletions and repairs until the commit."""
    with connection.cursor() as cursor:
        cursor.execute(_WAIT)
