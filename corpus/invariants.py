"""Check that what is stored keeps its promises."""

from collections.abc import Iterator
from hashlib import sha256

from django.db import connection
from django.db.models import Prefetch

from corpus.ingestion.sent_files import find_lost, find_unowned
from corpus.models import Chunk, Document
from corpus.times import EARLIEST, LATEST

_CHECKS = {
    "a time of a document cannot be read again": f"""
        SELECT id FROM corpus_document
         WHERE NOT (user_created_at BETWEEN '{EARLIEST}' AND '{LATEST}')
            OR NOT (last_modified BETWEEN '{EARLIEST}' AND '{LATEST}')""",  # noqa: S608
    "a completed document has no chunk": """
        SELECT d.id FROM corpus_document d WHERE d.status = 'completed'
           AND NOT EXISTS (SELECT FROM corpus_chunk c WHERE c.document_id = d.id)""",
    "chunk_count of a document is wrong": """
        SELECT d.id FROM corpus_document d WHERE d.chunk_count <>
               (SELECT count(*) FROM corpus_chunk c WHERE c.document_id = d.id)""",
    "ordinals of a document are not 0, 1, 2, ...": """
        SELECT document_id FROM corpus_chunk GROUP BY document_id
        HAVING min(ordinal) <> 0 OR max(ordinal) <> count(*) - 1""",
    "a document without a version has chunks": """
        SELECT document_id FROM corpus_chunk c JOIN corpus_document d ON d.id = c.document_id
         WHERE d.content_sha256 = ''""",
    "a document is pending or processing and no unfinished job has it": """
        SELECT d.id FROM corpus_document d WHERE d.status IN ('pending', 'processing')
           AND NOT EXISTS (
            SELECT FROM corpus_job j JOIN corpus_jobitem i ON i.job_id = j.id
             WHERE j.collection_id = d.collection_id AND j.status IN ('queued', 'running')
               AND i.status = 'pending'
               AND (i.document_id = d.id OR (i.path = d.file_path AND i.path <> '')))""",
    "a failed document does not say why": """
        SELECT id FROM corpus_document WHERE status = 'failed' AND error = ''""",
    "two documents came from one file": """
        SELECT file_path FROM corpus_document WHERE file_path <> ''
         GROUP BY collection_id, file_path HAVING count(*) > 1""",
    "a finished job has items that did not end": """
        SELECT j.id FROM corpus_job j WHERE j.status IN ('succeeded', 'failed')
           AND EXISTS (SELECT FROM corpus_jobitem i WHERE i.job_id = j.id AND i.status = 'pending')
    """,
    "the counts of a job are not those of its items": """
        SELECT j.id FROM corpus_job j LEFT JOIN corpus_jobitem i ON i.job_id = j.id
         GROUP BY j.id HAVING (j.total, j.done, j.failed) <>
               (count(i.id), count(i.id) FILTER (WHERE i.status = 'done'),
                count(i.id) FILTER (WHERE i.status IN ('failed', 'quarantined')))""",
    "a job succeeded with failed items": """
        SELECT id FROM corpus_job WHERE status = 'succeeded' AND failed > 0""",
    "a chunk is in another collection than its document": """
        SELECT c.id FROM corpus_chunk c JOIN corpus_document d ON d.id = c.document_id
         WHERE c.collection_id <> d.collection_id""",
    "a vector is in another collection than its chunk": """
        SELECT e.id FROM corpus_embedding e JOIN corpus_chunk c ON c.id = e.chunk_id
         WHERE c.collection_id <> e.collection_id""",
    "a chunk of a completed document has no vector of its collection's model": """
        SELECT c.id FROM corpus_chunk c
          JOIN corpus_document d ON d.id = c.document_id AND d.status = 'completed'
          JOIN corpus_collection k ON k.id = c.collection_id
         WHERE NOT EXISTS (SELECT FROM corpus_embedding e
                            WHERE e.chunk_id = c.id AND e.model = k.embedding_model)""",
    "a vector has not the dimension of its collection": """
        SELECT e.id FROM corpus_embedding e
          JOIN corpus_collection k ON k.id = e.collection_id AND k.embedding_model = e.model
         WHERE e.dimension <> k.dimension""",
    "a vector is not of length 1": """
        SELECT id FROM corpus_embedding WHERE abs(vector_norm(vector) - 1) > 0.001""",
    "token vectors have not the length of their tokens": """
        SELECT t.id FROM corpus_tokenvectors t JOIN (
            SELECT model, mode() WITHIN GROUP (ORDER BY octet_length(packed) / token_count) AS bytes
              FROM corpus_tokenvectors GROUP BY model) of_token USING (model)
         WHERE octet_length(t.packed) <> t.token_count * of_token.bytes""",
    "token vectors are of another text than their chunk's": """
        SELECT t.id FROM corpus_tokenvectors t
          JOIN corpus_chunk c ON c.id = t.chunk_id JOIN corpus_document d ON d.id = c.document_id
         WHERE t.input_sha256 <> encode(sha256(convert_to(
               CASE d.title WHEN '' THEN '' ELSE d.title || chr(10) END || c.text, 'UTF8')), 'hex')
    """,
    "a chunk lacks a tag of its document": """
        SELECT c.id FROM corpus_document_tags dt JOIN corpus_chunk c USING (document_id)
         WHERE NOT EXISTS (SELECT FROM corpus_chunktag ct
                            WHERE ct.chunk_id = c.id AND ct.tag_id = dt.tag_id)""",
    "the count of a word is wrong": """
        WITH counted AS (
          SELECT collection_id, lexeme, sum(chunk_count) AS n FROM corpus_termcount GROUP BY 1, 2
        ), held AS (
          SELECT collection_id, lexeme, count(*) AS n FROM (
            SELECT collection_id, unnest(tsvector_to_array(lexemes)) AS lexeme FROM corpus_chunk
          ) of_chunk GROUP BY 1, 2
          UNION ALL SELECT collection_id, '', count(*) FROM corpus_chunk GROUP BY 1
        )
        SELECT collection_id || ' ' || lexeme
          FROM counted FULL JOIN held USING (collection_id, lexeme)
         WHERE coalesce(counted.n, 0) <> coalesce(held.n, 0)""",
    "a collection has no index for its model's vectors": """
        SELECT k.name FROM corpus_collection k
         WHERE NOT EXISTS (
            SELECT FROM pg_index i JOIN pg_class t ON t.oid = i.indexrelid
             WHERE i.indisvalid AND i.indrelid = 'corpus_embedding'::regclass
               AND pg_get_expr(i.indpred, i.indrelid) LIKE '%%' || quote_literal(k.embedding_model)
                   || '%%')""",
}


def find_violations() -> Iterator[str]:
    """Yield a line for each broken promise: what is wrong, and where."""
    for name, query in _CHECKS.items():
        with connection.cursor() as cursor:
            cursor.execute(query, [])
            yield from (f"{name}: {row[0]}" for row in cursor.fetchall())
    yield from (f"the file that a document was sent as is gone: {key}" for key in find_lost())
    yield from (f"a file that was sent is of no document: {each.name}" for each in find_unowned())
    # Its times are left out: one that cannot be read is named above.
    texts = Document.objects.stored().only("raw_text", "content_sha256", "status")
    spans = Chunk.objects.only("document", "start_char", "end_char", "text").order_by()
    for document in texts.prefetch_related(Prefetch("chunks", spans)).iterator(chunk_size=50):
        yield from _wrong_text(document)


def _wrong_text(document: Document) -> Iterator[str]:
    """Spans that do not reproduce the text, characters in no chunk, hashes that do not fit."""
    text = document.raw_text
    if sha256(text.encode()).hexdigest() != document.content_sha256:
        yield f"content_sha256 of a document is wrong: {document.pk}"
    covered = 0
    for chunk in sorted(document.chunks.all(), key=lambda chunk: chunk.start_char):
        if text[chunk.start_char : chunk.end_char] != chunk.text:
            yield f"a chunk is not the span it names: {chunk.pk}"
        if text[covered : chunk.start_char].strip():
            yield f"text before a chunk is in no chunk: {chunk.pk}"
        covered = max(covered, chunk.end_char)
    if text[covered:].strip() and document.status == Document.Status.COMPLETED:
        yield f"the end of a document is in no chunk: {document.pk}"
