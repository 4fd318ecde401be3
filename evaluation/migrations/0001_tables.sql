-- Row-level security: everybody sees their own rows, and those of collections that they may read.

ALTER TABLE evaluation_question ENABLE ROW LEVEL SECURITY;
ALTER TABLE evaluation_question FORCE ROW LEVEL SECURITY;
CREATE POLICY evaluation_question_delete ON evaluation_question FOR DELETE
    USING (((SELECT pkb_sees_all()) OR (collection_id = ANY ((SELECT
        pkb_writable())::bigint[]))));
CREATE POLICY evaluation_question_insert ON evaluation_question FOR INSERT
    WITH CHECK (((SELECT pkb_sees_all()) OR (collection_id = ANY ((SELECT
        pkb_writable())::bigint[]))));
CREATE POLICY evaluation_question_read ON evaluation_question FOR SELECT
    USING (((SELECT pkb_sees_all()) OR (collection_id = ANY ((SELECT
        pkb_writable())::bigint[]))));
CREATE POLICY evaluation_question_update ON evaluation_question FOR UPDATE
    USING (((SELECT pkb_sees_all()) OR (collection_id = ANY ((SELECT
        pkb_writable())::bigint[]))))
    WITH CHECK (((SELECT pkb_sees_all()) OR (collection_id = ANY ((SELECT
        pkb_writable())::bigint[]))));
