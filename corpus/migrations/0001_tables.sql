-- What models do not say: functions, triggers, row-level security, and how columns are stored.

SET LOCAL check_function_bodies = off;


-- Who acts: the service tells each connection, as the setting pkb.principal.

CREATE OR REPLACE FUNCTION pkb_bounds_of(principal text) RETURNS bigint[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
  SELECT CASE WHEN strpos(principal, ':') > 0
              THEN string_to_array(nullif(split_part(principal, ':', 2), ''), ',')::bigint[] END
$$;

CREATE OR REPLACE FUNCTION pkb_granted(principal text, roles text[], publicly boolean) RETURNS bigint[]
    LANGUAGE sql STABLE PARALLEL SAFE
    AS $$
  SELECT coalesce(array_agg(a.collection_id), '{}')
    FROM auth_user me CROSS JOIN corpus_collectionaccess a
   WHERE me.id = pkb_user_of(principal) AND me.is_active
     AND (strpos(principal, ':') = 0 OR a.collection_id = ANY(pkb_bounds_of(principal)))
     AND (a.owner_id = me.id
          OR a.owner_id IS NULL AND me.is_superuser
          OR publicly AND a.is_public
          OR EXISTS (SELECT FROM corpus_grant g
                      WHERE g.collection_id = a.collection_id AND g.role = ANY(roles)
                        AND (g.user_id = me.id OR g.group_id IN (
                             SELECT group_id FROM auth_user_groups WHERE user_id = me.id))))
$$;

CREATE OR REPLACE FUNCTION pkb_is_bound() RETURNS boolean
    LANGUAGE sql STABLE PARALLEL SAFE
    AS $$
  SELECT coalesce(strpos(current_setting('pkb.principal', true), ':'), 0) > 0
$$;

CREATE OR REPLACE FUNCTION pkb_is_superuser() RETURNS boolean
    LANGUAGE sql STABLE PARALLEL SAFE
    AS $$
  SELECT EXISTS (SELECT FROM auth_user
                  WHERE id = pkb_user_id() AND is_superuser AND is_active)
$$;

CREATE OR REPLACE FUNCTION pkb_key_id() RETURNS bigint
    LANGUAGE sql STABLE PARALLEL SAFE
    AS $$
  SELECT nullif(split_part(current_setting('pkb.principal', true), ':', 3), '')::bigint
$$;

CREATE OR REPLACE FUNCTION pkb_owned() RETURNS bigint[]
    LANGUAGE sql STABLE PARALLEL SAFE
    AS $$
  SELECT pkb_granted(current_setting('pkb.principal', true), '{owner}', false)
$$;

CREATE OR REPLACE FUNCTION pkb_readable() RETURNS bigint[]
    LANGUAGE sql STABLE PARALLEL SAFE
    AS $$
  SELECT pkb_granted(current_setting('pkb.principal', true), '{reader,writer,owner}', true)
$$;

CREATE OR REPLACE FUNCTION pkb_sees_all() RETURNS boolean
    LANGUAGE sql STABLE PARALLEL SAFE
    AS $$
  SELECT coalesce(current_setting('pkb.principal', true), '') = '*'
$$;

CREATE OR REPLACE FUNCTION pkb_user_id() RETURNS bigint
    LANGUAGE sql STABLE PARALLEL SAFE
    AS $$
  SELECT pkb_user_of(current_setting('pkb.principal', true))
$$;

CREATE OR REPLACE FUNCTION pkb_user_of(principal text) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
  SELECT nullif(split_part(nullif(principal, '*'), ':', 1), '')::bigint
$$;

CREATE OR REPLACE FUNCTION pkb_writable() RETURNS bigint[]
    LANGUAGE sql STABLE PARALLEL SAFE
    AS $$
  SELECT pkb_granted(current_setting('pkb.principal', true), '{writer,owner}', false)
$$;


-- Access: the table that policies look collections up in; rows do not change their collection.

CREATE OR REPLACE FUNCTION corpus_keep_access() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public'
    AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    DELETE FROM corpus_collectionaccess WHERE collection_id = OLD.id;
  ELSE
    INSERT INTO corpus_collectionaccess (collection_id, owner_id, is_public)
    VALUES (NEW.id, NEW.owner_id, NEW.is_public)
    ON CONFLICT (collection_id) DO UPDATE
      SET owner_id = EXCLUDED.owner_id, is_public = EXCLUDED.is_public;
  END IF;
  RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION corpus_stay_owned() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
  IF NEW.owner_id IS DISTINCT FROM OLD.owner_id
     AND NOT (pkb_sees_all() OR OLD.id = ANY (pkb_owned())) THEN
    RAISE EXCEPTION 'row violates row-level security policy: its owner may not be changed'
          USING ERRCODE = 'insufficient_privilege';
  END IF;
  RETURN NEW;
END $$;

CREATE OR REPLACE FUNCTION corpus_stay_where_written() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
  IF NEW.collection_id <> OLD.collection_id
     AND NOT (pkb_sees_all() OR OLD.collection_id = ANY (pkb_writable())) THEN
    RAISE EXCEPTION 'row violates row-level security policy: its collection may not be changed'
          USING ERRCODE = 'insufficient_privilege';
  END IF;
  RETURN NEW;
END $$;

CREATE TRIGGER corpus_keep_access AFTER INSERT OR DELETE OR UPDATE OF owner_id, is_public ON corpus_collection
   
    FOR EACH ROW EXECUTE FUNCTION corpus_keep_access();
CREATE TRIGGER corpus_stay_owned BEFORE UPDATE OF owner_id ON corpus_collection
    FOR EACH ROW EXECUTE FUNCTION corpus_stay_owned();
CREATE TRIGGER corpus_stay_where_written BEFORE UPDATE OF collection_id ON corpus_chunk
    FOR EACH ROW EXECUTE FUNCTION corpus_stay_where_written();
CREATE TRIGGER corpus_stay_where_written BEFORE UPDATE OF collection_id ON corpus_collectionmap
    FOR EACH ROW EXECUTE FUNCTION corpus_stay_where_written();
CREATE TRIGGER corpus_stay_where_written BEFORE UPDATE OF collection_id ON corpus_document
    FOR EACH ROW EXECUTE FUNCTION corpus_stay_where_written();
CREATE TRIGGER corpus_stay_where_written BEFORE UPDATE OF collection_id ON corpus_documentcount
    FOR EACH ROW EXECUTE FUNCTION corpus_stay_where_written();
CREATE TRIGGER corpus_stay_where_written BEFORE UPDATE OF collection_id ON corpus_embedding
    FOR EACH ROW EXECUTE FUNCTION corpus_stay_where_written();
CREATE TRIGGER corpus_stay_where_written BEFORE UPDATE OF collection_id ON corpus_job
    FOR EACH ROW EXECUTE FUNCTION corpus_stay_where_written();
CREATE TRIGGER corpus_stay_where_written BEFORE UPDATE OF collection_id ON corpus_site
    FOR EACH ROW EXECUTE FUNCTION corpus_stay_where_written();
CREATE TRIGGER corpus_stay_where_written BEFORE UPDATE OF collection_id ON corpus_tag
    FOR EACH ROW EXECUTE FUNCTION corpus_stay_where_written();
CREATE TRIGGER corpus_stay_where_written BEFORE UPDATE OF collection_id ON corpus_termcount
    FOR EACH ROW EXECUTE FUNCTION corpus_stay_where_written();
CREATE TRIGGER corpus_stay_where_written BEFORE UPDATE OF collection_id ON corpus_watchedfolder
    FOR EACH ROW EXECUTE FUNCTION corpus_stay_where_written();

REVOKE ALL ON FUNCTION corpus_keep_access() FROM PUBLIC;


-- Counts of documents and chunks, by collection and tag; written as differences.

CREATE OR REPLACE FUNCTION corpus_count_documents_on_delete() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
INSERT INTO corpus_documentcount (collection_id, tag_id, document_count, chunk_count)
SELECT collection_id, tag_id, sum(documents), sum(chunks) FROM (
  SELECT collection_id, 0::bigint AS tag_id, -1 AS documents, 0 AS chunks FROM gone
   WHERE content_sha256 <> ''
) changed GROUP BY collection_id, tag_id HAVING sum(documents) <> 0 OR sum(chunks) <> 0;
 RETURN NULL; END $$;

CREATE OR REPLACE FUNCTION corpus_count_documents_on_insert() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
INSERT INTO corpus_documentcount (collection_id, tag_id, document_count, chunk_count)
SELECT collection_id, tag_id, sum(documents), sum(chunks) FROM (
  SELECT collection_id, 0::bigint AS tag_id, 1 AS documents, 0 AS chunks FROM added
   WHERE content_sha256 <> ''
) changed GROUP BY collection_id, tag_id HAVING sum(documents) <> 0 OR sum(chunks) <> 0;
 RETURN NULL; END $$;

CREATE OR REPLACE FUNCTION corpus_count_documents_on_update() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
INSERT INTO corpus_documentcount (collection_id, tag_id, document_count, chunk_count)
SELECT collection_id, tag_id, sum(documents), sum(chunks) FROM (
  SELECT collection_id, 0::bigint AS tag_id, 1 AS documents, 0 AS chunks FROM added
   WHERE content_sha256 <> ''
 UNION ALL
  SELECT collection_id, 0::bigint AS tag_id, -1 AS documents, 0 AS chunks FROM gone
   WHERE content_sha256 <> ''
) changed GROUP BY collection_id, tag_id HAVING sum(documents) <> 0 OR sum(chunks) <> 0;
 RETURN NULL; END $$;

CREATE OR REPLACE FUNCTION corpus_count_tagged_chunks_on_delete() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
INSERT INTO corpus_documentcount (collection_id, tag_id, document_count, chunk_count)
SELECT collection_id, tag_id, sum(documents), sum(chunks) FROM (
  SELECT t.collection_id, t.id AS tag_id, 0 AS documents, -1 AS chunks
    FROM gone l JOIN corpus_tag t ON t.id = l.tag_id
) changed GROUP BY collection_id, tag_id HAVING sum(documents) <> 0 OR sum(chunks) <> 0;
 RETURN NULL; END $$;

CREATE OR REPLACE FUNCTION corpus_count_tagged_chunks_on_insert() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
INSERT INTO corpus_documentcount (collection_id, tag_id, document_count, chunk_count)
SELECT collection_id, tag_id, sum(documents), sum(chunks) FROM (
  SELECT t.collection_id, t.id AS tag_id, 0 AS documents, 1 AS chunks
    FROM added l JOIN corpus_tag t ON t.id = l.tag_id
) changed GROUP BY collection_id, tag_id HAVING sum(documents) <> 0 OR sum(chunks) <> 0;
 RETURN NULL; END $$;

CREATE OR REPLACE FUNCTION corpus_count_tagged_chunks_on_update() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
INSERT INTO corpus_documentcount (collection_id, tag_id, document_count, chunk_count)
SELECT collection_id, tag_id, sum(documents), sum(chunks) FROM (
  SELECT t.collection_id, t.id AS tag_id, 0 AS documents, 1 AS chunks
    FROM added l JOIN corpus_tag t ON t.id = l.tag_id
 UNION ALL
  SELECT t.collection_id, t.id AS tag_id, 0 AS documents, -1 AS chunks
    FROM gone l JOIN corpus_tag t ON t.id = l.tag_id
) changed GROUP BY collection_id, tag_id HAVING sum(documents) <> 0 OR sum(chunks) <> 0;
 RETURN NULL; END $$;

CREATE OR REPLACE FUNCTION corpus_count_tagged_documents_on_delete() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
INSERT INTO corpus_documentcount (collection_id, tag_id, document_count, chunk_count)
SELECT collection_id, tag_id, sum(documents), sum(chunks) FROM (
  SELECT t.collection_id, t.id AS tag_id, -1 AS documents, 0 AS chunks
    FROM gone l JOIN corpus_tag t ON t.id = l.tag_id
) changed GROUP BY collection_id, tag_id HAVING sum(documents) <> 0 OR sum(chunks) <> 0;
 RETURN NULL; END $$;

CREATE OR REPLACE FUNCTION corpus_count_tagged_documents_on_insert() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
INSERT INTO corpus_documentcount (collection_id, tag_id, document_count, chunk_count)
SELECT collection_id, tag_id, sum(documents), sum(chunks) FROM (
  SELECT t.collection_id, t.id AS tag_id, 1 AS documents, 0 AS chunks
    FROM added l JOIN corpus_tag t ON t.id = l.tag_id
) changed GROUP BY collection_id, tag_id HAVING sum(documents) <> 0 OR sum(chunks) <> 0;
 RETURN NULL; END $$;

CREATE OR REPLACE FUNCTION corpus_count_tagged_documents_on_update() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
INSERT INTO corpus_documentcount (collection_id, tag_id, document_count, chunk_count)
SELECT collection_id, tag_id, sum(documents), sum(chunks) FROM (
  SELECT t.collection_id, t.id AS tag_id, 1 AS documents, 0 AS chunks
    FROM added l JOIN corpus_tag t ON t.id = l.tag_id
 UNION ALL
  SELECT t.collection_id, t.id AS tag_id, -1 AS documents, 0 AS chunks
    FROM gone l JOIN corpus_tag t ON t.id = l.tag_id
) changed GROUP BY collection_id, tag_id HAVING sum(documents) <> 0 OR sum(chunks) <> 0;
 RETURN NULL; END $$;

CREATE OR REPLACE FUNCTION corpus_forget_counts() RETURNS trigger
    LANGUAGE plpgsql
    AS $$ BEGIN
  PERFORM pg_advisory_xact_lock_shared(0x706b625f6463);
  DELETE FROM corpus_documentcount WHERE collection_id = OLD.id;
  RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION corpus_forget_tag_counts() RETURNS trigger
    LANGUAGE plpgsql
    AS $$ BEGIN
  PERFORM pg_advisory_xact_lock_shared(0x706b625f6463);
  DELETE FROM corpus_documentcount WHERE collection_id = OLD.collection_id AND tag_id = OLD.id;
  RETURN NULL;
END $$;

CREATE TRIGGER corpus_count_documents_on_delete AFTER DELETE ON corpus_document
    REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION corpus_count_documents_on_delete();
CREATE TRIGGER corpus_count_documents_on_insert AFTER INSERT ON corpus_document
    REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION corpus_count_documents_on_insert();
CREATE TRIGGER corpus_count_documents_on_update AFTER UPDATE ON corpus_document
    REFERENCING OLD TABLE AS gone NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION corpus_count_documents_on_update();
CREATE TRIGGER corpus_count_tagged_chunks_on_delete AFTER DELETE ON corpus_chunktag
    REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION corpus_count_tagged_chunks_on_delete();
CREATE TRIGGER corpus_count_tagged_chunks_on_insert AFTER INSERT ON corpus_chunktag
    REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION corpus_count_tagged_chunks_on_insert();
CREATE TRIGGER corpus_count_tagged_chunks_on_update AFTER UPDATE ON corpus_chunktag
    REFERENCING OLD TABLE AS gone NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION corpus_count_tagged_chunks_on_update();
CREATE TRIGGER corpus_count_tagged_documents_on_delete AFTER DELETE ON corpus_document_tags
    REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION corpus_count_tagged_documents_on_delete();
CREATE TRIGGER corpus_count_tagged_documents_on_insert AFTER INSERT ON corpus_document_tags
    REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION corpus_count_tagged_documents_on_insert();
CREATE TRIGGER corpus_count_tagged_documents_on_update AFTER UPDATE ON corpus_document_tags
    REFERENCING OLD TABLE AS gone NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION corpus_count_tagged_documents_on_update();
CREATE TRIGGER corpus_forget_counts AFTER DELETE ON corpus_collection
    FOR EACH ROW EXECUTE FUNCTION corpus_forget_counts();
CREATE TRIGGER corpus_forget_tag_counts AFTER DELETE ON corpus_tag
    FOR EACH ROW EXECUTE FUNCTION corpus_forget_tag_counts();


-- Counts of words, for BM25; written as differences.

CREATE OR REPLACE FUNCTION corpus_count_terms_on_delete() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
INSERT INTO corpus_termcount (collection_id, lexeme, chunk_count, token_count)
SELECT collection_id, lexeme, sum(chunks), sum(tokens) FROM (
  SELECT collection_id, '' AS lexeme, -1 AS chunks, -token_count AS tokens FROM gone
  UNION ALL
  SELECT c.collection_id, l.lexeme, -1, 0 FROM gone c, unnest(c.lexemes) l
) changed GROUP BY collection_id, lexeme HAVING sum(chunks) <> 0 OR sum(tokens) <> 0;
 RETURN NULL; END $$;

CREATE OR REPLACE FUNCTION corpus_count_terms_on_insert() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
INSERT INTO corpus_termcount (collection_id, lexeme, chunk_count, token_count)
SELECT collection_id, lexeme, sum(chunks), sum(tokens) FROM (
  SELECT collection_id, '' AS lexeme, 1 AS chunks, token_count AS tokens FROM added
  UNION ALL
  SELECT c.collection_id, l.lexeme, 1, 0 FROM added c, unnest(c.lexemes) l
) changed GROUP BY collection_id, lexeme HAVING sum(chunks) <> 0 OR sum(tokens) <> 0;
 RETURN NULL; END $$;

CREATE OR REPLACE FUNCTION corpus_count_terms_on_update() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
INSERT INTO corpus_termcount (collection_id, lexeme, chunk_count, token_count)
SELECT collection_id, lexeme, sum(chunks), sum(tokens) FROM (
  SELECT collection_id, '' AS lexeme, 1 AS chunks, token_count AS tokens FROM added
  UNION ALL
  SELECT c.collection_id, l.lexeme, 1, 0 FROM added c, unnest(c.lexemes) l
 UNION ALL
  SELECT collection_id, '' AS lexeme, -1 AS chunks, -token_count AS tokens FROM gone
  UNION ALL
  SELECT c.collection_id, l.lexeme, -1, 0 FROM gone c, unnest(c.lexemes) l
) changed GROUP BY collection_id, lexeme HAVING sum(chunks) <> 0 OR sum(tokens) <> 0;
 RETURN NULL; END $$;

CREATE OR REPLACE FUNCTION corpus_forget_terms() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN DELETE FROM corpus_termcount WHERE collection_id = OLD.id; RETURN NULL; END $$;

CREATE TRIGGER corpus_count_terms_on_delete AFTER DELETE ON corpus_chunk
    REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION corpus_count_terms_on_delete();
CREATE TRIGGER corpus_count_terms_on_insert AFTER INSERT ON corpus_chunk
    REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION corpus_count_terms_on_insert();
CREATE TRIGGER corpus_count_terms_on_update AFTER UPDATE ON corpus_chunk
    REFERENCING OLD TABLE AS gone NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION corpus_count_terms_on_update();
CREATE TRIGGER corpus_forget_terms AFTER DELETE ON corpus_collection
    FOR EACH ROW EXECUTE FUNCTION corpus_forget_terms();


-- Token vectors depend on the title.

CREATE OR REPLACE FUNCTION corpus_forget_token_vectors() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
  DELETE FROM corpus_tokenvectors t USING corpus_chunk c
   WHERE c.id = t.chunk_id AND c.document_id = NEW.id;
  RETURN NULL;
END $$;

CREATE TRIGGER corpus_forget_token_vectors AFTER UPDATE OF title ON corpus_document
   
    FOR EACH ROW WHEN (((old.title)::text <> (new.title)::text)) EXECUTE FUNCTION corpus_forget_token_vectors();


-- Versions of collections: cached answers are valid as long as they stay the same.

CREATE OR REPLACE FUNCTION corpus_forget_changes() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN DELETE FROM corpus_collectionchange WHERE collection_id = OLD.id; RETURN NULL; END $$;

CREATE OR REPLACE FUNCTION corpus_tell_all() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN PERFORM corpus_tell_change(array_agg(id)) FROM corpus_collection; RETURN NULL; END $$;

CREATE OR REPLACE FUNCTION corpus_tell_change(changed bigint[]) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
  told text := coalesce(current_setting('pkb.changed_collections', true), '');
  untold bigint[];
BEGIN
  SELECT array_agg(DISTINCT id) INTO untold FROM unnest(changed) id
   WHERE strpos(told, ',' || id || ',') = 0;
  IF untold IS NULL THEN RETURN; END IF;
  DELETE FROM corpus_collectionchange WHERE id IN (
    SELECT id FROM corpus_collectionchange WHERE collection_id = ANY(untold) FOR UPDATE SKIP LOCKED);
  INSERT INTO corpus_collectionchange (id, collection_id)
  SELECT gen_random_uuid(), id FROM unnest(untold) id;
  PERFORM set_config('pkb.changed_collections',
                     told || ',' || array_to_string(untold, ',,') || ',', true);
END $$;

CREATE OR REPLACE FUNCTION corpus_tell_collection() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN PERFORM corpus_tell_change(ARRAY[NEW.id]); RETURN NULL; END $$;

CREATE OR REPLACE FUNCTION corpus_tell_rows() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
  IF TG_OP = 'UPDATE' THEN
    PERFORM corpus_tell_change(array_agg(DISTINCT collection_id)) FROM (
      SELECT collection_id FROM changed UNION SELECT collection_id FROM former) rows;
  ELSE
    PERFORM corpus_tell_change(array_agg(DISTINCT collection_id)) FROM changed;
  END IF;
  RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION corpus_tell_tags() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
  PERFORM corpus_tell_change(array_agg(DISTINCT c.collection_id))
     FROM changed JOIN corpus_chunk c ON c.id = changed.chunk_id;
  RETURN NULL;
END $$;

CREATE TRIGGER corpus_forget_changes AFTER DELETE ON corpus_collection
    FOR EACH ROW EXECUTE FUNCTION corpus_forget_changes();
CREATE TRIGGER corpus_tell_change AFTER INSERT OR UPDATE ON corpus_collection
    FOR EACH ROW EXECUTE FUNCTION corpus_tell_collection();
CREATE TRIGGER corpus_tell_delete AFTER DELETE ON corpus_chunk
    REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION corpus_tell_rows();
CREATE TRIGGER corpus_tell_delete AFTER DELETE ON corpus_chunktag
    REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION corpus_tell_tags();
CREATE TRIGGER corpus_tell_delete AFTER DELETE ON corpus_document
    REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION corpus_tell_rows();
CREATE TRIGGER corpus_tell_delete AFTER DELETE ON corpus_embedding
    REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION corpus_tell_rows();
CREATE TRIGGER corpus_tell_insert AFTER INSERT ON corpus_chunk
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION corpus_tell_rows();
CREATE TRIGGER corpus_tell_insert AFTER INSERT ON corpus_chunktag
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION corpus_tell_tags();
CREATE TRIGGER corpus_tell_insert AFTER INSERT ON corpus_document
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION corpus_tell_rows();
CREATE TRIGGER corpus_tell_insert AFTER INSERT ON corpus_embedding
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION corpus_tell_rows();
CREATE TRIGGER corpus_tell_truncate AFTER TRUNCATE ON corpus_chunk
    FOR EACH STATEMENT EXECUTE FUNCTION corpus_tell_all();
CREATE TRIGGER corpus_tell_truncate AFTER TRUNCATE ON corpus_chunktag
    FOR EACH STATEMENT EXECUTE FUNCTION corpus_tell_all();
CREATE TRIGGER corpus_tell_truncate AFTER TRUNCATE ON corpus_document
    FOR EACH STATEMENT EXECUTE FUNCTION corpus_tell_all();
CREATE TRIGGER corpus_tell_truncate AFTER TRUNCATE ON corpus_embedding
    FOR EACH STATEMENT EXECUTE FUNCTION corpus_tell_all();
CREATE TRIGGER corpus_tell_update AFTER UPDATE ON corpus_chunk
    REFERENCING OLD TABLE AS former NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION corpus_tell_rows();
CREATE TRIGGER corpus_tell_update AFTER UPDATE ON corpus_chunktag
    REFERENCING OLD TABLE AS former NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION corpus_tell_tags();
CREATE TRIGGER corpus_tell_update AFTER UPDATE ON corpus_document
    REFERENCING OLD TABLE AS former NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION corpus_tell_rows();
CREATE TRIGGER corpus_tell_update AFTER UPDATE ON corpus_embedding
    REFERENCING OLD TABLE AS former NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION corpus_tell_rows();
CREATE TRIGGER corpus_tell_update AFTER UPDATE ON corpus_tag
    REFERENCING OLD TABLE AS former NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION corpus_tell_rows();


-- Storage: lexemes stay in the row, whose text moves out before; vectors are never compressed.

ALTER TABLE corpus_chunk ALTER COLUMN lexemes SET STORAGE MAIN;
ALTER TABLE corpus_tokenvectors ALTER COLUMN packed SET STORAGE EXTERNAL;
ALTER TABLE corpus_embedding SET (toast_tuple_target = 8160);


-- Row-level security: everybody sees the rows of the collections that they may read.

ALTER TABLE corpus_chunk ENABLE ROW LEVEL SECURITY;
ALTER TABLE corpus_chunk FORCE ROW LEVEL SECURITY;
CREATE POLICY corpus_chunk_delete ON corpus_chunk FOR DELETE
    USING (((SELECT pkb_sees_all()) OR (collection_id = ANY ((SELECT
        pkb_writable())::bigint[]))));
CREATE POLICY corpus_chunk_insert ON corpus_chunk FOR INSERT
    WITH CHECK (((SELECT pkb_sees_all()) OR (collection_id = ANY ((SELECT
        pkb_writable())::bigint[]))));
CREATE POLICY corpus_chunk_read ON corpus_chunk FOR SELECT
    USING (((SELECT pkb_sees_all()) OR (collection_id = ANY ((SELECT
        pkb_readable())::bigint[]))));
CREATE POLICY corpus_chunk_update ON corpus_chunk FOR UPDATE
    USING (((SELECT pkb_sees_all()) OR (collection_id = ANY ((SELECT
        pkb_readable())::bigint[]))))
    WITH CHECK (((SELECT pkb_sees_all()) OR (collection_id = ANY ((SELECT
        pkb_writable())::bigint[]))));

ALTER TABLE corpus_chunktag ENABLE ROW LEVEL SECURITY;
ALTER TABLE corpus_chunktag FORCE ROW LEVEL SECURITY;
CREATE POLICY corpus_chunktag_delete ON corpus_chunktag FOR DELETE
    USING (((SELECT pkb_sees_all()) OR (tag_id = ANY (ARRAY(SELECT corpus_tag.id FROM corpus_tag
        WHERE (corpus_tag.collection_id = ANY ((SELECT pkb_writable())::bigint[])))))));
CREATE POLICY corpus_chunktag_insert ON corpus_chunktag FOR INSERT
    WITH CHECK (((SELECT pkb_sees_all()) OR ((tag_id = ANY (ARRAY(SELECT corpus_tag.id FROM
        corpus_tag WHERE (corpus_tag.collection_id = ANY ((SELECT pkb_writable())::bigint[])))))
        AND (EXISTS (SELECT FROM corpus_chunk parent WHERE ((parent.id =
        corpus_chunktag.chunk_id) AND (parent.collection_id = ANY ((SELECT
        pkb_writable())::bigint[]))))))));
CREATE POLICY corpus_chunktag_read ON corpus_chunktag FOR SELECT
    USING (((SELECT pkb_sees_all()) OR (tag_id = ANY (ARRAY(SELECT corpus_tag.id FROM
        corpus_tag)))));
CREATE POLICY corpus_chunktag_update ON corpus_chunktag FOR UPDATE
    USING (((SELECT pkb_sees_all()) OR ((tag_id = ANY (ARRAY(SELECT corpus_tag.id FROM
        corpus_tag WHERE (corpus_tag.collection_id = ANY ((SELECT pkb_writable())::bigint[])))))
        AND (EXISTS (SELECT FROM corpus_chunk parent WHERE ((parent.id =
        corpus_chunktag.chunk_id) AND (parent.collection_id = ANY ((SELECT
        pkb_writable())::bigint[]))))))))
    WITH CHECK (((SELECT pkb_sees_all()) OR ((tag_id = ANY (ARRAY(SELECT corpus_tag.id FROM
        corpus_tag WHERE (corpus_tag.collection_id = ANY ((SELECT pkb_writable())::bigint[])))))
        AND (EXISTS (SELECT FROM corpus_chunk parent WHERE ((parent.id =
        corpus_chunktag.chunk_id) AND (parent.collection_id = ANY ((SELECT
        pkb_writable())::bigint[]))))))));

ALTER TABLE corpus_collection ENABLE ROW LEVEL SECURITY;
ALTER TABLE corpus_collection FORCE ROW LEVEL SECURITY;
CREATE POLICY corpus_collection_delete ON corpus_collection FOR DELETE
    USING (((SELECT pkb_sees_all()) OR (((owner_id = (SELECT pkb_user_id())) AND (NOT (SELECT
        pkb_is_bound()))) OR (id = ANY ((SELECT pkb_owned())::bigint[])))));
CREATE POLICY corpus_collection_insert ON corpus_collection FOR INSERT
    WITH CHECK (((SELECT pkb_sees_all()) OR (((owner_id = (SELECT pkb_user_id())) AND (NOT
        (SELECT pkb_is_bound()))) OR (id = ANY ((SELECT pkb_owned())::bigint[])))));
CREATE POLICY corpus_collection_read ON corpus_collection FOR SELECT
    USING (((SELECT pkb_sees_all()) OR (((owner_id = (SELECT pkb_user_id())) AND (NOT (SELECT
        pkb_is_bound()))) OR (id = ANY ((SELECT pkb_readable())::bigint[])))));
CREATE POLICY corpus_collection_update ON corpus_collection FOR UPDATE
    USING (((SELECT pkb_sees_all()) OR (((owner_id = (SELECT pkb_user_id())) AND (NOT (SELECT
        pkb_is_bound()))) OR (id = ANY ((SELECT pkb_readable())::bigint[])))))
    WITH CHECK (((SELECT pkb_sees_all()) OR (((owner_id = (SELECT pkb_user_id())) AND (NOT
        (SELECT pkb_is_bound()))) OR (id = ANY ((SELECT pkb_owned())::bigint[])))));

ALTER TABLE corpus_collectionchange ENABLE ROW LEVEL SECURITY;
ALTER TABLE corpus_collectionchange FORCE ROW LEVEL SECURITY;
CREATE POLICY corpus_collectionchange_delete ON corpus_collectionchange FOR DELETE
    USING (((SELECT pkb_sees_all()) OR (collection_id = ANY ((SELECT
        pkb_writable())::bigint[]))));
CREATE POLICY corpus_collectionchange_insert ON corpus_collectionchange FOR INSERT
    WITH CHECK (((SELECT pkb_sees_all()) OR (collection_id = ANY ((SELECT
        pkb_writable())::bigint[]))));
CREATE POLICY corpus_collectionchange_read ON corpus_collectionchange FOR SELECT
    USING (((SELECT pkb_sees_all()) OR (collection_id = ANY ((SELECT
        pkb_readable())::bigint[]))));
CREATE POLICY corpus_collectionchange_update ON corpus_collectionchange FOR UPDATE
    USING (((SELECT pkb_sees_all()) OR (collection_id = ANY ((SELECT
        pkb_readable())::bigint[]))))
    WITH CHECK (((SELECT pkb_sees_all()) OR (collection_id = ANY ((SELECT
        pkb_writable())::bigint[]))));

ALTER TABLE corpus_collectionmap ENABLE ROW LEVEL SECURITY;
ALTER TABLE corpus_collectionmap FORCE ROW LEVEL SECURITY;
CREATE POLICY corpus_collectionmap_delete ON corpus_collectionmap FOR DELETE
    USING (((SELECT pkb_sees_all()) OR (collection_id = ANY ((SELECT
        pkb_writable())::bigint[]))));
CREATE POLICY corpus_collectionmap_insert ON corpus_collectionmap FOR INSERT
    WITH CHECK (((SELECT pkb_sees_all()) OR (collection_id = ANY ((SELECT
        pkb_writable())::bigint[]))));
CREATE POLICY corpus_collectionmap_read ON corpus_collectionmap FOR SELECT
    USING (((SELECT pkb_sees_all()) OR (collection_id = ANY ((SELECT
        pkb_readable())::bigint[]))));
CREATE POLICY corpus_collectionmap_update ON corpus_collectionmap FOR UPDATE
    USING (((SELECT pkb_sees_all()) OR (collection_id = ANY ((SELECT
        pkb_readable())::bigint[]))))
    WITH CHECK (((SELECT pkb_sees_all()) OR (collection_id = ANY ((SELECT
        pkb_writable())::bigint[]))));

ALTER TABLE corpus_document ENABLE ROW LEVEL SECURITY;
ALTER TABLE corpus_document FORCE ROW LEVEL SECURITY;
CREATE POLICY corpus_document_delete ON corpus_document FOR DELETE
    USING (((SELECT pkb_sees_all()) OR (collection_id = ANY ((SELECT
        pkb_writable())::bigint[]))));
CREATE POLICY corpus_document_insert ON corpus_document FOR INSERT
    WITH CHECK (((SELECT pkb_sees_all()) OR (collection_id = ANY ((SELECT
        pkb_writable())::bigint[]))));
CREATE POLICY corpus_document_read ON corpus_document FOR SELECT
    USING (((SELECT pkb_sees_all()) OR (collection_id = ANY ((SELECT
        pkb_readable())::bigint[]))));
CREATE POLICY corpus_document_update ON corpus_document FOR UPDATE
    USING (((SELECT pkb_sees_all()) OR (collection_id = ANY ((SELECT
        pkb_readable())::bigint[]))))
    WITH CHECK (((SELECT pkb_sees_all()) OR (collection_id = ANY ((SELECT
        pkb_writable())::bigint[]))));

ALTER TABLE corpus_document_tags ENABLE ROW LEVEL SECURITY;
ALTER TABLE corpus_document_tags FORCE ROW LEVEL SECURITY;
CREATE POLICY corpus_document_tags_delete ON corpus_document_tags FOR DELETE
    USING (((SELECT pkb_sees_all()) OR (tag_id = ANY (ARRAY(SELECT corpus_tag.id FROM corpus_tag
        WHERE (corpus_tag.collection_id = ANY ((SELECT pkb_writable())::bigint[])))))));
CREATE POLICY corpus_document_tags_insert ON corpus_document_tags FOR INSERT
    WITH CHECK (((SELECT pkb_sees_all()) OR ((tag_id = ANY (ARRAY(SELECT corpus_tag.id FROM
        corpus_tag WHERE (corpus_tag.collection_id = ANY ((SELECT pkb_writable())::bigint[])))))
        AND (EXISTS (SELECT FROM corpus_document parent WHERE ((parent.id =
        corpus_document_tags.document_id) AND (parent.collection_id = ANY ((SELECT
        pkb_writable())::bigint[]))))))));
CREATE POLICY corpus_document_tags_read ON corpus_document_tags FOR SELECT
    USING (((SELECT pkb_sees_all()) OR (tag_id = ANY (ARRAY(SELECT corpus_tag.id FROM
        corpus_tag)))));
CREATE POLICY corpus_document_tags_update ON corpus_document_tags FOR UPDATE
    USING (((SELECT pkb_sees_all()) OR ((tag_id = ANY (ARRAY(SELECT corpus_tag.id FROM
        corpus_tag WHERE (corpus_tag.collection_id = ANY ((SELECT pkb_writable())::bigint[])))))
        AND (EXISTS (SELECT FROM corpus_document parent WHERE ((parent.id =
        corpus_document_tags.document_id) AND (parent.collection_id = ANY ((SELECT
        pkb_writable())::bigint[]))))))))
    WITH CHECK (((SELECT pkb_sees_all()) OR ((tag_id = ANY (ARRAY(SELECT corpus_tag.id FROM
        corpus_tag WHERE (corpus_tag.collection_id = ANY ((SELECT pkb_writable())::bigint[])))))
        AND (EXISTS (SELECT FROM corpus_document parent WHERE ((parent.id =
        corpus_document_tags.document_id) AND (parent.collection_id = ANY ((SELECT
        pkb_writable())::bigint[]))))))));

ALTER TABLE corpus_documentcount ENABLE ROW LEVEL SECURITY;
ALTER TABLE corpus_documentcount FORCE ROW LEVEL SECURITY;
CREATE POLICY corpus_documentcount_delete ON corpus_documentcount FOR DELETE
    USING (((SELECT pkb_sees_all()) OR (collection_id = ANY ((SELECT
        pkb_writable())::bigint[]))));
CREATE POLICY corpus_documentcount_insert ON corpus_documentcount FOR INSERT
    WITH CHECK (((SELECT pkb_sees_all()) OR (collection_id = ANY ((SELECT
        pkb_writable())::bigint[]))));
CREATE POLICY corpus_documentcount_read ON corpus_documentcount FOR SELECT
    USING (((SELECT pkb_sees_all()) OR (collection_id = ANY ((SELECT
        pkb_readable())::bigint[]))));
CREATE POLICY corpus_documentcount_update ON corpus_documentcount FOR UPDATE
    USING (((SELECT pkb_sees_all()) OR (collection_id = ANY ((SELECT
        pkb_readable())::bigint[]))))
    WITH CHECK (((SELECT pkb_sees_all()) OR (collection_id = ANY ((SELECT
        pkb_writable())::bigint[]))));

ALTER TABLE corpus_droppedfile ENABLE ROW LEVEL SECURITY;
ALTER TABLE corpus_droppedfile FORCE ROW LEVEL SECURITY;
CREATE POLICY corpus_droppedfile_delete ON corpus_droppedfile FOR DELETE
    USING (((SELECT pkb_sees_all()) OR false));
CREATE POLICY corpus_droppedfile_insert ON corpus_droppedfile FOR INSERT
    WITH CHECK (((SELECT pkb_sees_all()) OR false));
CREATE POLICY corpus_droppedfile_read ON corpus_droppedfile FOR SELECT
    USING (((SELECT pkb_sees_all()) OR false));
CREATE POLICY corpus_droppedfile_update ON corpus_droppedfile FOR UPDATE
    USING (((SELECT pkb_sees_all()) OR false))
    WITH CHECK (((SELECT pkb_sees_all()) OR false));

ALTER TABLE corpus_embedding ENABLE ROW LEVEL SECURITY;
ALTER TABLE corpus_embedding FORCE ROW LEVEL SECURITY;
CREATE POLICY corpus_embedding_delete ON corpus_embedding FOR DELETE
    USING (((SELECT pkb_sees_all()) OR (collection_id = ANY ((SELECT
        pkb_writable())::bigint[]))));
CREATE POLICY corpus_embedding_insert ON corpus_embedding FOR INSERT
    WITH CHECK (((SELECT pkb_sees_all()) OR (collection_id = ANY ((SELECT
        pkb_writable())::bigint[]))));
CREATE POLICY corpus_embedding_read ON corpus_embedding FOR SELECT
    USING (((SELECT pkb_sees_all()) OR (collection_id = ANY ((SELECT
        pkb_readable())::bigint[]))));
CREATE POLICY corpus_embedding_update ON corpus_embedding FOR UPDATE
    USING (((SELECT pkb_sees_all()) OR (collection_id = ANY ((SELECT
        pkb_readable())::bigint[]))))
    WITH CHECK (((SELECT pkb_sees_all()) OR (collection_id = ANY ((SELECT
        pkb_writable())::bigint[]))));

ALTER TABLE corpus_grant ENABLE ROW LEVEL SECURITY;
ALTER TABLE corpus_grant FORCE ROW LEVEL SECURITY;
CREATE POLICY corpus_grant_delete ON corpus_grant FOR DELETE
    USING (((SELECT pkb_sees_all()) OR (collection_id = ANY ((SELECT pkb_owned())::bigint[]))));
CREATE POLICY corpus_grant_insert ON corpus_grant FOR INSERT
    WITH CHECK (((SELECT pkb_sees_all()) OR (collection_id = ANY ((SELECT
        pkb_owned())::bigint[]))));
CREATE POLICY corpus_grant_read ON corpus_grant FOR SELECT
    USING (true);
CREATE POLICY corpus_grant_update ON corpus_grant FOR UPDATE
    USING (((SELECT pkb_sees_all()) OR (collection_id = ANY ((SELECT pkb_owned())::bigint[]))));

ALTER TABLE corpus_idempotentrequest ENABLE ROW LEVEL SECURITY;
ALTER TABLE corpus_idempotentrequest FORCE ROW LEVEL SECURITY;
CREATE POLICY corpus_idempotentrequest_delete ON corpus_idempotentrequest FOR DELETE
    USING (((SELECT pkb_sees_all()) OR (((made_by_id = (SELECT pkb_user_id())) OR ((made_by_id
        IS NULL) AND (SELECT pkb_is_superuser()))) AND ((NOT (SELECT pkb_is_bound())) OR
        (made_with = (SELECT pkb_key_id()))))));
CREATE POLICY corpus_idempotentrequest_insert ON corpus_idempotentrequest FOR INSERT
    WITH CHECK (((SELECT pkb_sees_all()) OR (((made_by_id = (SELECT pkb_user_id())) OR
        ((made_by_id IS NULL) AND (SELECT pkb_is_superuser()))) AND ((NOT (SELECT
        pkb_is_bound())) OR (made_with = (SELECT pkb_key_id()))))));
CREATE POLICY corpus_idempotentrequest_read ON corpus_idempotentrequest FOR SELECT
    USING (((SELECT pkb_sees_all()) OR (((made_by_id = (SELECT pkb_user_id())) OR ((made_by_id
        IS NULL) AND (SELECT pkb_is_superuser()))) AND ((NOT (SELECT pkb_is_bound())) OR
        (made_with = (SELECT pkb_key_id()))))));
CREATE POLICY corpus_idempotentrequest_update ON corpus_idempotentrequest FOR UPDATE
    USING (((SELECT pkb_sees_all()) OR (((made_by_id = (SELECT pkb_user_id())) OR ((made_by_id
        IS NULL) AND (SELECT pkb_is_superuser()))) AND ((NOT (SELECT pkb_is_bound())) OR
        (made_with = (SELECT pkb_key_id()))))))
    WITH CHECK (((SELECT pkb_sees_all()) OR (((made_by_id = (SELECT pkb_user_id())) OR
        ((made_by_id IS NULL) AND (SELECT pkb_is_superuser()))) AND ((NOT (SELECT
        pkb_is_bound())) OR (made_with = (SELECT pkb_key_id()))))));

ALTER TABLE corpus_installation ENABLE ROW LEVEL SECURITY;
ALTER TABLE corpus_installation FORCE ROW LEVEL SECURITY;
CREATE POLICY corpus_installation_delete ON corpus_installation FOR DELETE
    USING (((SELECT pkb_sees_all()) OR false));
CREATE POLICY corpus_installation_insert ON corpus_installation FOR INSERT
    WITH CHECK (((SELECT pkb_sees_all()) OR false));
CREATE POLICY corpus_installation_read ON corpus_installation FOR SELECT
    USING (((SELECT pkb_sees_all()) OR false));
CREATE POLICY corpus_installation_update ON corpus_installation FOR UPDATE
    USING (((SELECT pkb_sees_all()) OR false))
    WITH CHECK (((SELECT pkb_sees_all()) OR false));

ALTER TABLE corpus_job ENABLE ROW LEVEL SECURITY;
ALTER TABLE corpus_job FORCE ROW LEVEL SECURITY;
CREATE POLICY corpus_job_delete ON corpus_job FOR DELETE
    USING (((SELECT pkb_sees_all()) OR (collection_id = ANY ((SELECT
        pkb_writable())::bigint[]))));
CREATE POLICY corpus_job_insert ON corpus_job FOR INSERT
    WITH CHECK (((SELECT pkb_sees_all()) OR (collection_id = ANY ((SELECT
        pkb_writable())::bigint[]))));
CREATE POLICY corpus_job_read ON corpus_job FOR SELECT
    USING (((SELECT pkb_sees_all()) OR ((collection_id = ANY ((SELECT
        pkb_writable())::bigint[])) OR ((made_by_id = (SELECT pkb_user_id())) AND (collection_id
        = ANY ((SELECT pkb_readable())::bigint[]))))));
CREATE POLICY corpus_job_update ON corpus_job FOR UPDATE
    USING (((SELECT pkb_sees_all()) OR ((collection_id = ANY ((SELECT
        pkb_writable())::bigint[])) OR ((made_by_id = (SELECT pkb_user_id())) AND (collection_id
        = ANY ((SELECT pkb_readable())::bigint[]))))))
    WITH CHECK (((SELECT pkb_sees_all()) OR (collection_id = ANY ((SELECT
        pkb_writable())::bigint[]))));

ALTER TABLE corpus_jobitem ENABLE ROW LEVEL SECURITY;
ALTER TABLE corpus_jobitem FORCE ROW LEVEL SECURITY;
CREATE POLICY corpus_jobitem_delete ON corpus_jobitem FOR DELETE
    USING (((SELECT pkb_sees_all()) OR (EXISTS (SELECT FROM corpus_job parent WHERE ((parent.id
        = corpus_jobitem.job_id) AND (parent.collection_id = ANY ((SELECT
        pkb_writable())::bigint[])))))));
CREATE POLICY corpus_jobitem_insert ON corpus_jobitem FOR INSERT
    WITH CHECK (((SELECT pkb_sees_all()) OR (EXISTS (SELECT FROM corpus_job parent WHERE
        ((parent.id = corpus_jobitem.job_id) AND (parent.collection_id = ANY ((SELECT
        pkb_writable())::bigint[])))))));
CREATE POLICY corpus_jobitem_read ON corpus_jobitem FOR SELECT
    USING (((SELECT pkb_sees_all()) OR (EXISTS (SELECT FROM corpus_job parent WHERE (parent.id =
        corpus_jobitem.job_id)))));
CREATE POLICY corpus_jobitem_update ON corpus_jobitem FOR UPDATE
    USING (((SELECT pkb_sees_all()) OR (EXISTS (SELECT FROM corpus_job parent WHERE (parent.id =
        corpus_jobitem.job_id)))))
    WITH CHECK (((SELECT pkb_sees_all()) OR (EXISTS (SELECT FROM corpus_job parent WHERE
        ((parent.id = corpus_jobitem.job_id) AND (parent.collection_id = ANY ((SELECT
        pkb_writable())::bigint[])))))));

ALTER TABLE corpus_rule ENABLE ROW LEVEL SECURITY;
ALTER TABLE corpus_rule FORCE ROW LEVEL SECURITY;
CREATE POLICY corpus_rule_delete ON corpus_rule FOR DELETE
    USING (((SELECT pkb_sees_all()) OR false));
CREATE POLICY corpus_rule_insert ON corpus_rule FOR INSERT
    WITH CHECK (((SELECT pkb_sees_all()) OR false));
CREATE POLICY corpus_rule_read ON corpus_rule FOR SELECT
    USING (((SELECT pkb_sees_all()) OR false));
CREATE POLICY corpus_rule_update ON corpus_rule FOR UPDATE
    USING (((SELECT pkb_sees_all()) OR false))
    WITH CHECK (((SELECT pkb_sees_all()) OR false));

ALTER TABLE corpus_site ENABLE ROW LEVEL SECURITY;
ALTER TABLE corpus_site FORCE ROW LEVEL SECURITY;
CREATE POLICY corpus_site_delete ON corpus_site FOR DELETE
    USING (((SELECT pkb_sees_all()) OR (collection_id = ANY ((SELECT
        pkb_writable())::bigint[]))));
CREATE POLICY corpus_site_insert ON corpus_site FOR INSERT
    WITH CHECK (((SELECT pkb_sees_all()) OR (collection_id = ANY ((SELECT
        pkb_writable())::bigint[]))));
CREATE POLICY corpus_site_read ON corpus_site FOR SELECT
    USING (((SELECT pkb_sees_all()) OR (collection_id = ANY ((SELECT
        pkb_readable())::bigint[]))));
CREATE POLICY corpus_site_update ON corpus_site FOR UPDATE
    USING (((SELECT pkb_sees_all()) OR (collection_id = ANY ((SELECT
        pkb_readable())::bigint[]))))
    WITH CHECK (((SELECT pkb_sees_all()) OR (collection_id = ANY ((SELECT
        pkb_writable())::bigint[]))));

ALTER TABLE corpus_sitepage ENABLE ROW LEVEL SECURITY;
ALTER TABLE corpus_sitepage FORCE ROW LEVEL SECURITY;
CREATE POLICY corpus_sitepage_delete ON corpus_sitepage FOR DELETE
    USING (((SELECT pkb_sees_all()) OR (EXISTS (SELECT FROM corpus_site parent WHERE ((parent.id
        = corpus_sitepage.site_id) AND (parent.collection_id = ANY ((SELECT
        pkb_writable())::bigint[])))))));
CREATE POLICY corpus_sitepage_insert ON corpus_sitepage FOR INSERT
    WITH CHECK (((SELECT pkb_sees_all()) OR (EXISTS (SELECT FROM corpus_site parent WHERE
        ((parent.id = corpus_sitepage.site_id) AND (parent.collection_id = ANY ((SELECT
        pkb_writable())::bigint[])))))));
CREATE POLICY corpus_sitepage_read ON corpus_sitepage FOR SELECT
    USING (((SELECT pkb_sees_all()) OR (EXISTS (SELECT FROM corpus_site parent WHERE (parent.id
        = corpus_sitepage.site_id)))));
CREATE POLICY corpus_sitepage_update ON corpus_sitepage FOR UPDATE
    USING (((SELECT pkb_sees_all()) OR (EXISTS (SELECT FROM corpus_site parent WHERE (parent.id
        = corpus_sitepage.site_id)))))
    WITH CHECK (((SELECT pkb_sees_all()) OR (EXISTS (SELECT FROM corpus_site parent WHERE
        ((parent.id = corpus_sitepage.site_id) AND (parent.collection_id = ANY ((SELECT
        pkb_writable())::bigint[])))))));

ALTER TABLE corpus_tag ENABLE ROW LEVEL SECURITY;
ALTER TABLE corpus_tag FORCE ROW LEVEL SECURITY;
CREATE POLICY corpus_tag_delete ON corpus_tag FOR DELETE
    USING (((SELECT pkb_sees_all()) OR (collection_id = ANY ((SELECT
        pkb_writable())::bigint[]))));
CREATE POLICY corpus_tag_insert ON corpus_tag FOR INSERT
    WITH CHECK (((SELECT pkb_sees_all()) OR (collection_id = ANY ((SELECT
        pkb_writable())::bigint[]))));
CREATE POLICY corpus_tag_read ON corpus_tag FOR SELECT
    USING (((SELECT pkb_sees_all()) OR (collection_id = ANY ((SELECT
        pkb_readable())::bigint[]))));
CREATE POLICY corpus_tag_update ON corpus_tag FOR UPDATE
    USING (((SELECT pkb_sees_all()) OR (collection_id = ANY ((SELECT
        pkb_readable())::bigint[]))))
    WITH CHECK (((SELECT pkb_sees_all()) OR (collection_id = ANY ((SELECT
        pkb_writable())::bigint[]))));

ALTER TABLE corpus_termcount ENABLE ROW LEVEL SECURITY;
ALTER TABLE corpus_termcount FORCE ROW LEVEL SECURITY;
CREATE POLICY corpus_termcount_delete ON corpus_termcount FOR DELETE
    USING (((SELECT pkb_sees_all()) OR (collection_id = ANY ((SELECT
        pkb_writable())::bigint[]))));
CREATE POLICY corpus_termcount_insert ON corpus_termcount FOR INSERT
    WITH CHECK (((SELECT pkb_sees_all()) OR (collection_id = ANY ((SELECT
        pkb_writable())::bigint[]))));
CREATE POLICY corpus_termcount_read ON corpus_termcount FOR SELECT
    USING (((SELECT pkb_sees_all()) OR (collection_id = ANY ((SELECT
        pkb_readable())::bigint[]))));
CREATE POLICY corpus_termcount_update ON corpus_termcount FOR UPDATE
    USING (((SELECT pkb_sees_all()) OR (collection_id = ANY ((SELECT
        pkb_readable())::bigint[]))))
    WITH CHECK (((SELECT pkb_sees_all()) OR (collection_id = ANY ((SELECT
        pkb_writable())::bigint[]))));

ALTER TABLE corpus_tokenvectors ENABLE ROW LEVEL SECURITY;
ALTER TABLE corpus_tokenvectors FORCE ROW LEVEL SECURITY;
CREATE POLICY corpus_tokenvectors_delete ON corpus_tokenvectors FOR DELETE
    USING (((SELECT pkb_sees_all()) OR (EXISTS (SELECT FROM corpus_chunk parent WHERE (parent.id
        = corpus_tokenvectors.chunk_id)))));
CREATE POLICY corpus_tokenvectors_insert ON corpus_tokenvectors FOR INSERT
    WITH CHECK (((SELECT pkb_sees_all()) OR (EXISTS (SELECT FROM corpus_chunk parent WHERE
        (parent.id = corpus_tokenvectors.chunk_id)))));
CREATE POLICY corpus_tokenvectors_read ON corpus_tokenvectors FOR SELECT
    USING (((SELECT pkb_sees_all()) OR (EXISTS (SELECT FROM corpus_chunk parent WHERE (parent.id
        = corpus_tokenvectors.chunk_id)))));
CREATE POLICY corpus_tokenvectors_update ON corpus_tokenvectors FOR UPDATE
    USING (((SELECT pkb_sees_all()) OR (EXISTS (SELECT FROM corpus_chunk parent WHERE (parent.id
        = corpus_tokenvectors.chunk_id)))))
    WITH CHECK (((SELECT pkb_sees_all()) OR (EXISTS (SELECT FROM corpus_chunk parent WHERE
        (parent.id = corpus_tokenvectors.chunk_id)))));

ALTER TABLE corpus_tombstone ENABLE ROW LEVEL SECURITY;
ALTER TABLE corpus_tombstone FORCE ROW LEVEL SECURITY;
CREATE POLICY corpus_tombstone_delete ON corpus_tombstone FOR DELETE
    USING (((SELECT pkb_sees_all()) OR false));
CREATE POLICY corpus_tombstone_insert ON corpus_tombstone FOR INSERT
    WITH CHECK (((SELECT pkb_sees_all()) OR false));
CREATE POLICY corpus_tombstone_read ON corpus_tombstone FOR SELECT
    USING (((SELECT pkb_sees_all()) OR false));
CREATE POLICY corpus_tombstone_update ON corpus_tombstone FOR UPDATE
    USING (((SELECT pkb_sees_all()) OR false))
    WITH CHECK (((SELECT pkb_sees_all()) OR false));

ALTER TABLE corpus_watchedfolder ENABLE ROW LEVEL SECURITY;
ALTER TABLE corpus_watchedfolder FORCE ROW LEVEL SECURITY;
CREATE POLICY corpus_watchedfolder_delete ON corpus_watchedfolder FOR DELETE
    USING (((SELECT pkb_sees_all()) OR (collection_id = ANY ((SELECT
        pkb_writable())::bigint[]))));
CREATE POLICY corpus_watchedfolder_insert ON corpus_watchedfolder FOR INSERT
    WITH CHECK (((SELECT pkb_sees_all()) OR (collection_id = ANY ((SELECT
        pkb_writable())::bigint[]))));
CREATE POLICY corpus_watchedfolder_read ON corpus_watchedfolder FOR SELECT
    USING (((SELECT pkb_sees_all()) OR (collection_id = ANY ((SELECT
        pkb_readable())::bigint[]))));
CREATE POLICY corpus_watchedfolder_update ON corpus_watchedfolder FOR UPDATE
    USING (((SELECT pkb_sees_all()) OR (collection_id = ANY ((SELECT
        pkb_readable())::bigint[]))))
    WITH CHECK (((SELECT pkb_sees_all()) OR (collection_id = ANY ((SELECT
        pkb_writable())::bigint[]))));
