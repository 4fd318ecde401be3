"""Compare the counts of documents and tags with the rows."""

_COUNTED = """
  SELECT collection_id, tag_id, sum(document_count) AS documents, sum(chunk_count) AS chunks
    FROM corpus_documentcount GROUP BY collection_id, tag_id
"""
_HELD = """
  SELECT collection_id, 0::bigint AS tag_id, count(*) AS documents, 0 AS chunks
    FROM corpus_document WHERE content_sha256 <> '' GROUP BY collection_id
   UNION ALL
  SELECT t.collection_id, t.id, coalesce(d.documents, 0), coalesce(c.chunks, 0) FROM corpus_tag t
    LEFT JOIN (SELECT tag_id, count(*) AS documents FROM corpus_document_tags GROUP BY tag_id) d
           ON d.tag_id = t.id
    LEFT JOIN (SELECT tag_id, count(*) AS chunks FROM corpus_chunktag GROUP BY tag_id) c
           ON c.tag_id = t.id
"""
# Actual minus stored counts.
DIFFERENCES = f"""
SELECT collection_id, tag_id, coalesce(held.documents, 0) - coalesce(counted.documents, 0),
       coalesce(held.chunks, 0) - coalesce(counted.chunks, 0)
  FROM ({_COUNTED}) counted FULL JOIN ({_HELD}) held USING (collection_id, tag_id)
 WHERE coalesce(held.documents, 0) <> coalesce(counted.documents, 0)
    OR coalesce(held.chunks, 0) <> coalesce(counted.chunks, 0)
"""  # noqa: S608
COUNTS = {
    "the count of documents is wrong": f"""
        SELECT collection_id || ' ' || tag_id, collection_id
          FROM ({DIFFERENCES}) differing(collection_id, tag_id, documents, chunks)""",  # noqa: S608
}
