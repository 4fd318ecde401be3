-- Row-level security: everybody sees their own rows, and those of collections that they may read.

ALTER TABLE qa_answer ENABLE ROW LEVEL SECURITY;
ALTER TABLE qa_answer FORCE ROW LEVEL SECURITY;
CREATE POLICY qa_answer_delete ON qa_answer FOR DELETE
    USING (((SELECT pkb_sees_all()) OR (((made_by_id = (SELECT pkb_user_id())) OR ((made_by_id
        IS NULL) AND (SELECT pkb_is_superuser()))) AND (collection_id = ANY ((SELECT
        pkb_readable())::bigint[])))));
CREATE POLICY qa_answer_insert ON qa_answer FOR INSERT
    WITH CHECK (((SELECT pkb_sees_all()) OR (((made_by_id = (SELECT pkb_user_id())) OR
        ((made_by_id IS NULL) AND (SELECT pkb_is_superuser()))) AND (collection_id = ANY
        ((SELECT pkb_readable())::bigint[])))));
CREATE POLICY qa_answer_read ON qa_answer FOR SELECT
    USING (((SELECT pkb_sees_all()) OR (((made_by_id = (SELECT pkb_user_id())) OR ((made_by_id
        IS NULL) AND (SELECT pkb_is_superuser()))) AND (collection_id = ANY ((SELECT
        pkb_readable())::bigint[])))));
CREATE POLICY qa_answer_update ON qa_answer FOR UPDATE
    USING (((SELECT pkb_sees_all()) OR (((made_by_id = (SELECT pkb_user_id())) OR ((made_by_id
        IS NULL) AND (SELECT pkb_is_superuser()))) AND (collection_id = ANY ((SELECT
        pkb_readable())::bigint[])))))
    WITH CHECK (((SELECT pkb_sees_all()) OR (((made_by_id = (SELECT pkb_user_id())) OR
        ((made_by_id IS NULL) AND (SELECT pkb_is_superuser()))) AND (collection_id = ANY
        ((SELECT pkb_readable())::bigint[])))));

ALTER TABLE qa_chatevent ENABLE ROW LEVEL SECURITY;
ALTER TABLE qa_chatevent FORCE ROW LEVEL SECURITY;
CREATE POLICY qa_chatevent_delete ON qa_chatevent FOR DELETE
    USING (((SELECT pkb_sees_all()) OR (EXISTS (SELECT FROM qa_chatstream parent WHERE
        (parent.id = qa_chatevent.stream_id)))));
CREATE POLICY qa_chatevent_insert ON qa_chatevent FOR INSERT
    WITH CHECK (((SELECT pkb_sees_all()) OR (EXISTS (SELECT FROM qa_chatstream parent WHERE
        (parent.id = qa_chatevent.stream_id)))));
CREATE POLICY qa_chatevent_read ON qa_chatevent FOR SELECT
    USING (((SELECT pkb_sees_all()) OR (EXISTS (SELECT FROM qa_chatstream parent WHERE
        (parent.id = qa_chatevent.stream_id)))));
CREATE POLICY qa_chatevent_update ON qa_chatevent FOR UPDATE
    USING (((SELECT pkb_sees_all()) OR (EXISTS (SELECT FROM qa_chatstream parent WHERE
        (parent.id = qa_chatevent.stream_id)))))
    WITH CHECK (((SELECT pkb_sees_all()) OR (EXISTS (SELECT FROM qa_chatstream parent WHERE
        (parent.id = qa_chatevent.stream_id)))));

ALTER TABLE qa_chatstream ENABLE ROW LEVEL SECURITY;
ALTER TABLE qa_chatstream FORCE ROW LEVEL SECURITY;
CREATE POLICY qa_chatstream_delete ON qa_chatstream FOR DELETE
    USING (((SELECT pkb_sees_all()) OR (EXISTS (SELECT FROM qa_session parent WHERE (parent.id =
        qa_chatstream.session_id)))));
CREATE POLICY qa_chatstream_insert ON qa_chatstream FOR INSERT
    WITH CHECK (((SELECT pkb_sees_all()) OR (EXISTS (SELECT FROM qa_session parent WHERE
        (parent.id = qa_chatstream.session_id)))));
CREATE POLICY qa_chatstream_read ON qa_chatstream FOR SELECT
    USING (((SELECT pkb_sees_all()) OR (EXISTS (SELECT FROM qa_session parent WHERE (parent.id =
        qa_chatstream.session_id)))));
CREATE POLICY qa_chatstream_update ON qa_chatstream FOR UPDATE
    USING (((SELECT pkb_sees_all()) OR (EXISTS (SELECT FROM qa_session parent WHERE (parent.id =
        qa_chatstream.session_id)))))
    WITH CHECK (((SELECT pkb_sees_all()) OR (EXISTS (SELECT FROM qa_session parent WHERE
        (parent.id = qa_chatstream.session_id)))));

ALTER TABLE qa_citation ENABLE ROW LEVEL SECURITY;
ALTER TABLE qa_citation FORCE ROW LEVEL SECURITY;
CREATE POLICY qa_citation_delete ON qa_citation FOR DELETE
    USING (((SELECT pkb_sees_all()) OR (EXISTS (SELECT FROM qa_answer parent WHERE (parent.id =
        qa_citation.answer_id)))));
CREATE POLICY qa_citation_insert ON qa_citation FOR INSERT
    WITH CHECK (((SELECT pkb_sees_all()) OR (EXISTS (SELECT FROM qa_answer parent WHERE
        (parent.id = qa_citation.answer_id)))));
CREATE POLICY qa_citation_read ON qa_citation FOR SELECT
    USING (((SELECT pkb_sees_all()) OR (EXISTS (SELECT FROM qa_answer parent WHERE (parent.id =
        qa_citation.answer_id)))));
CREATE POLICY qa_citation_update ON qa_citation FOR UPDATE
    USING (((SELECT pkb_sees_all()) OR (EXISTS (SELECT FROM qa_answer parent WHERE (parent.id =
        qa_citation.answer_id)))))
    WITH CHECK (((SELECT pkb_sees_all()) OR (EXISTS (SELECT FROM qa_answer parent WHERE
        (parent.id = qa_citation.answer_id)))));

ALTER TABLE qa_feedback ENABLE ROW LEVEL SECURITY;
ALTER TABLE qa_feedback FORCE ROW LEVEL SECURITY;
CREATE POLICY qa_feedback_delete ON qa_feedback FOR DELETE
    USING (((SELECT pkb_sees_all()) OR (EXISTS (SELECT FROM qa_answer parent WHERE (parent.id =
        qa_feedback.answer_id)))));
CREATE POLICY qa_feedback_insert ON qa_feedback FOR INSERT
    WITH CHECK (((SELECT pkb_sees_all()) OR (EXISTS (SELECT FROM qa_answer parent WHERE
        (parent.id = qa_feedback.answer_id)))));
CREATE POLICY qa_feedback_read ON qa_feedback FOR SELECT
    USING (((SELECT pkb_sees_all()) OR (EXISTS (SELECT FROM qa_answer parent WHERE (parent.id =
        qa_feedback.answer_id)))));
CREATE POLICY qa_feedback_update ON qa_feedback FOR UPDATE
    USING (((SELECT pkb_sees_all()) OR (EXISTS (SELECT FROM qa_answer parent WHERE (parent.id =
        qa_feedback.answer_id)))))
    WITH CHECK (((SELECT pkb_sees_all()) OR (EXISTS (SELECT FROM qa_answer parent WHERE
        (parent.id = qa_feedback.answer_id)))));

ALTER TABLE qa_message ENABLE ROW LEVEL SECURITY;
ALTER TABLE qa_message FORCE ROW LEVEL SECURITY;
CREATE POLICY qa_message_delete ON qa_message FOR DELETE
    USING (((SELECT pkb_sees_all()) OR (EXISTS (SELECT FROM qa_session parent WHERE (parent.id =
        qa_message.session_id)))));
CREATE POLICY qa_message_insert ON qa_message FOR INSERT
    WITH CHECK (((SELECT pkb_sees_all()) OR (EXISTS (SELECT FROM qa_session parent WHERE
        (parent.id = qa_message.session_id)))));
CREATE POLICY qa_message_read ON qa_message FOR SELECT
    USING (((SELECT pkb_sees_all()) OR (EXISTS (SELECT FROM qa_session parent WHERE (parent.id =
        qa_message.session_id)))));
CREATE POLICY qa_message_update ON qa_message FOR UPDATE
    USING (((SELECT pkb_sees_all()) OR (EXISTS (SELECT FROM qa_session parent WHERE (parent.id =
        qa_message.session_id)))))
    WITH CHECK (((SELECT pkb_sees_all()) OR (EXISTS (SELECT FROM qa_session parent WHERE
        (parent.id = qa_message.session_id)))));

ALTER TABLE qa_session ENABLE ROW LEVEL SECURITY;
ALTER TABLE qa_session FORCE ROW LEVEL SECURITY;
CREATE POLICY qa_session_delete ON qa_session FOR DELETE
    USING (((SELECT pkb_sees_all()) OR (((made_by_id = (SELECT pkb_user_id())) OR ((made_by_id
        IS NULL) AND (SELECT pkb_is_superuser()))) AND ((NOT (SELECT pkb_is_bound())) OR
        (made_with = (SELECT pkb_key_id()))))));
CREATE POLICY qa_session_insert ON qa_session FOR INSERT
    WITH CHECK (((SELECT pkb_sees_all()) OR (((made_by_id = (SELECT pkb_user_id())) OR
        ((made_by_id IS NULL) AND (SELECT pkb_is_superuser()))) AND ((NOT (SELECT
        pkb_is_bound())) OR (made_with = (SELECT pkb_key_id()))))));
CREATE POLICY qa_session_read ON qa_session FOR SELECT
    USING (((SELECT pkb_sees_all()) OR (((made_by_id = (SELECT pkb_user_id())) OR ((made_by_id
        IS NULL) AND (SELECT pkb_is_superuser()))) AND ((NOT (SELECT pkb_is_bound())) OR
        (made_with = (SELECT pkb_key_id()))))));
CREATE POLICY qa_session_update ON qa_session FOR UPDATE
    USING (((SELECT pkb_sees_all()) OR (((made_by_id = (SELECT pkb_user_id())) OR ((made_by_id
        IS NULL) AND (SELECT pkb_is_superuser()))) AND ((NOT (SELECT pkb_is_bound())) OR
        (made_with = (SELECT pkb_key_id()))))))
    WITH CHECK (((SELECT pkb_sees_all()) OR (((made_by_id = (SELECT pkb_user_id())) OR
        ((made_by_id IS NULL) AND (SELECT pkb_is_superuser()))) AND ((NOT (SELECT
        pkb_is_bound())) OR (made_with = (SELECT pkb_key_id()))))));
