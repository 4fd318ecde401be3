"""Invariants between tables, each as one SQL statement."""

from collections.abc import Mapping

from corpus.erasure.shingles import HASH_BYTES, MAX_HASHES, WIDTH
from corpus.invariants.count_checks import DOCUMENT_DIFFERENCES
from corpus.models import DEFAULT_COLLECTION
from corpus.times import EARLIEST, LATEST

# Each row of a statement is a key and the id of its collection, or NULL.
TABLES: Mapping[str, str] = {
    # Documents.
    "a time of a document cannot be read again": f"""
        SELECT id, collection_id FROM corpus_document
         WHERE NOT (user_created_at BETWEEN '{EARLIEST}' AND '{LATEST}')
            OR NOT (last_modified BETWEEN '{EARLIEST}' AND '{LATEST}')""",  # noqa: S608
    "a document is pending or processing and no unfinished job has it": """
        SELECT d.id, d.collection_id FROM corpus_document d
         WHERE d.status IN ('pending', 'processing') AND NOT EXISTS (
            SELECT FROM corpus_job j JOIN corpus_jobitem i ON i.job_id = j.id
             WHERE j.collection_id = d.collection_id AND j.status IN ('queued', 'running')
               AND i.status = 'pending'
               AND (i.document_id = d.id OR (i.path = d.file_path AND i.path <> '')))""",
    "two documents came from one file": """
        SELECT file_path, collection_id FROM corpus_document WHERE file_path <> ''
         GROUP BY collection_id, file_path HAVING count(*) > 1""",
    # The most frequent length of a token counts as correct.
    "token vectors have not the length of their tokens": """
        WITH lengths AS (
          SELECT model, octet_length(packed) / token_count AS bytes, count(*) AS n
            FROM corpus_tokenvectors GROUP BY 1, 2
        ), usual AS (SELECT DISTINCT ON (model) model, bytes FROM lengths ORDER BY model, n DESC)
        SELECT t.chunk_id, c.collection_id FROM corpus_tokenvectors t JOIN usual USING (model)
          JOIN corpus_chunk c ON c.id = t.chunk_id
         WHERE octet_length(t.packed) <> t.token_count * usual.bytes""",
    # Collections.
    "a collection that always exists is gone": f"""
        SELECT '{DEFAULT_COLLECTION}', NULL::bigint
         WHERE NOT EXISTS (SELECT FROM corpus_collection
                            WHERE name = '{DEFAULT_COLLECTION}' AND owner_id IS NULL)""",  # noqa: S608
    # Names as in corpus.vector_index.
    "a collection has no index for its model's vectors": """
        SELECT k.id, k.id FROM corpus_collection k
         CROSS JOIN LATERAL (VALUES (k.embedding_model, k.dimension),
                                    (k.previous_model, k.previous_dimension)) used(model, dimension)
         WHERE used.model <> '' AND NOT EXISTS (
            SELECT FROM pg_index i
             WHERE i.indisvalid AND i.indexrelid = to_regclass('embedding_hnsw_' || left(
                   encode(sha256(convert_to(used.model, 'UTF8')), 'hex'), 16))
               AND pg_get_indexdef(i.indexrelid) LIKE '%%halfvec(' || used.dimension || ')%%')""",
    "a collection has no version": """
        SELECT k.id, k.id FROM corpus_collection k
         WHERE NOT EXISTS (SELECT FROM corpus_collectionchange v WHERE v.collection_id = k.id)""",
    "what policies know of a collection is not what it says": """
        SELECT k.id, k.id FROM corpus_collection k
          FULL JOIN corpus_collectionaccess a ON a.collection_id = k.id
         WHERE (k.id, k.owner_id, k.is_public)
               IS DISTINCT FROM (a.collection_id, a.owner_id, a.is_public)""",
    "a tag is on a document of another collection": """
        SELECT DISTINCT t.id, t.collection_id FROM corpus_tag t
          JOIN corpus_document_tags l ON l.tag_id = t.id
          JOIN corpus_document d ON d.id = l.document_id AND d.collection_id <> t.collection_id""",
    "a version is of a collection that is gone": """
        SELECT v.id, NULL FROM corpus_collectionchange v
         WHERE NOT EXISTS (SELECT FROM corpus_collection k WHERE k.id = v.collection_id)""",
    "words are counted of a collection that is gone": """
        SELECT DISTINCT t.collection_id, NULL::bigint FROM corpus_termcount t
         WHERE NOT EXISTS (SELECT FROM corpus_collection k WHERE k.id = t.collection_id)""",
    "the count of documents is wrong": f"""
        SELECT collection_id || ' ' || tag_id, collection_id
          FROM ({DOCUMENT_DIFFERENCES}) differing(collection_id, tag_id, documents, chunks)""",  # noqa: S608
    # Jobs.
    "a finished job has items that did not end": """
        SELECT j.id, j.collection_id FROM corpus_job j WHERE j.status IN ('succeeded', 'failed')
           AND EXISTS (SELECT FROM corpus_jobitem i WHERE i.job_id = j.id AND i.status = 'pending')
    """,
    "the counts of a job are not those of its items": """
        SELECT j.id, j.collection_id FROM corpus_job j LEFT JOIN corpus_jobitem i ON i.job_id = j.id
         GROUP BY j.id HAVING (j.total, j.done, j.failed) <>
               (count(i.id), count(i.id) FILTER (WHERE i.status = 'done'),
                count(i.id) FILTER (WHERE i.status IN ('failed', 'quarantined')))""",
    "a job succeeded with failed items": """
        SELECT j.id, j.collection_id FROM corpus_job j WHERE j.status = 'succeeded'
           AND EXISTS (SELECT FROM corpus_jobitem i WHERE i.job_id = j.id
                          AND i.status IN ('failed', 'quarantined')
                          -- 'removed': the document of a refused file was deleted.
                          AND i.outcome NOT IN ('refused', 'removed'))""",
    "a kept reply names a document that is gone": """
        SELECT r.id, NULL::bigint FROM corpus_idempotentrequest r
         WHERE r.body->>'document_id' <> '' AND NOT EXISTS (
            SELECT FROM corpus_document d WHERE d.id::text = r.body->>'document_id')""",
    "the file of a document is to be dropped": """
        SELECT d.id, d.collection_id FROM corpus_droppedfile f
          JOIN corpus_document d ON split_part(d.kept_file, '/', 1) = f.folder
            OR d.file_path LIKE '%%/' || f.folder || '/%%'""",
    "a tombstone cannot be looked for": f"""
        SELECT id, NULL::bigint FROM corpus_tombstone
         WHERE octet_length(hashes) %% {HASH_BYTES} <> 0 OR octet_length(seal) <> {HASH_BYTES}
            OR octet_length(hashes) > {HASH_BYTES * MAX_HASHES} OR width > {WIDTH}
            OR (width = 0) <> (octet_length(hashes) = 0)
            OR content_sha256 !~ '^[0-9a-f]{{64}}$'""",  # noqa: S608
    # Websites and folders.
    "a site is refreshed by itself and has no time for it, or the other way": """
        SELECT id, collection_id FROM corpus_site WHERE (every_hours IS NULL) <> (due_at IS NULL)
    """,
    "the host of a site is not that of its address": """
        SELECT id, collection_id FROM corpus_site
         WHERE host <> split_part(split_part(address, '://', 2), '/', 1)""",
    "a page of a site is not named by a digest": """
        SELECT p.id, s.collection_id FROM corpus_sitepage p JOIN corpus_site s ON s.id = p.site_id
         WHERE p.digest !~ '^[0-9a-f]{64}$'""",
    "a watched folder is not in the folder that allows it": """
        SELECT id, collection_id FROM corpus_watchedfolder
         WHERE NOT starts_with(path, '/')
            OR NOT (root IN ('', path) OR starts_with(path, rtrim(root, '/') || '/'))""",
    "the job of a watched folder is of another collection": """
        SELECT w.id, w.collection_id FROM corpus_watchedfolder w
          JOIN corpus_job j ON j.id = w.job_id WHERE j.collection_id <> w.collection_id""",
    # Without these parts of the schema, the next write breaks data, and no other check notices.
    "a trigger is missing or off": """
        SELECT wanted.name || ' on ' || wanted.on_table, NULL::bigint
          FROM (VALUES
            ('corpus_count_terms_on_insert', 'corpus_chunk'),
            ('corpus_count_terms_on_update', 'corpus_chunk'),
            ('corpus_count_terms_on_delete', 'corpus_chunk'),
            ('corpus_forget_terms', 'corpus_collection'),
            ('corpus_count_documents_on_insert', 'corpus_document'),
            ('corpus_count_documents_on_update', 'corpus_document'),
            ('corpus_count_documents_on_delete', 'corpus_document'),
            ('corpus_count_tagged_documents_on_insert', 'corpus_document_tags'),
            ('corpus_count_tagged_documents_on_update', 'corpus_document_tags'),
            ('corpus_count_tagged_documents_on_delete', 'corpus_document_tags'),
            ('corpus_count_tagged_chunks_on_insert', 'corpus_chunktag'),
            ('corpus_count_tagged_chunks_on_update', 'corpus_chunktag'),
            ('corpus_count_tagged_chunks_on_delete', 'corpus_chunktag'),
            ('corpus_forget_counts', 'corpus_collection'),
            ('corpus_forget_tag_counts', 'corpus_tag'),
            ('corpus_forget_token_vectors', 'corpus_document'),
            ('corpus_tell_change', 'corpus_collection'),
            ('corpus_forget_changes', 'corpus_collection'),
            ('corpus_keep_access', 'corpus_collection'), ('corpus_stay_owned', 'corpus_collection'),
            ('corpus_stay_where_written', 'corpus_document'),
            ('accounts_event_stays', 'accounts_event'),
            ('corpus_tell_update', 'corpus_tag'),
            ('corpus_tell_insert', 'corpus_document'), ('corpus_tell_update', 'corpus_document'),
            ('corpus_tell_delete', 'corpus_document'), ('corpus_tell_insert', 'corpus_chunk'),
            ('corpus_tell_update', 'corpus_chunk'), ('corpus_tell_delete', 'corpus_chunk'),
            ('corpus_tell_insert', 'corpus_embedding'), ('corpus_tell_update', 'corpus_embedding'),
            ('corpus_tell_delete', 'corpus_embedding'), ('corpus_tell_insert', 'corpus_chunktag'),
            ('corpus_tell_update', 'corpus_chunktag'), ('corpus_tell_delete', 'corpus_chunktag')
          ) wanted(name, on_table)
         WHERE NOT EXISTS (SELECT FROM pg_trigger t WHERE t.tgname = wanted.name
            AND t.tgrelid = wanted.on_table::regclass AND t.tgenabled IN ('O', 'A'))""",
    "row-level security is off": """
        SELECT DISTINCT p.polrelid::regclass, NULL::bigint
          FROM pg_policy p JOIN pg_class c ON c.oid = p.polrelid
         WHERE c.relnamespace = current_schema()::regnamespace
           AND NOT (c.relrowsecurity AND c.relforcerowsecurity)""",
    "a constraint was never checked": """
        SELECT conrelid::regclass || ' ' || conname, NULL::bigint FROM pg_constraint
         WHERE NOT convalidated AND connamespace = current_schema()::regnamespace""",
    # An index that another process is building is not broken.
    "an index is broken": """
        SELECT i.indexrelid::regclass, NULL::bigint FROM pg_index i
          JOIN pg_class c ON c.oid = i.indexrelid
         WHERE NOT i.indisvalid AND c.relnamespace = current_schema()::regnamespace
           -- For another role's build, the index is not visible.
           AND NOT EXISTS (SELECT FROM pg_stat_progress_create_index p
                            WHERE p.index_relid = i.indexrelid
                               OR p.index_relid IS NULL AND p.datname = current_database())""",
}
