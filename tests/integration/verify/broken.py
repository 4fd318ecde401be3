"""By invariant, statements that break it in the prepared installation, and what breaks with it."""
# ruff: noqa: S608  (no value comes from outside)

Cases = dict[str, str | tuple[str, set[str]]]

COAST = "(SELECT id FROM corpus_document WHERE title = 'Coast')"
OF_COAST = f"(SELECT id FROM corpus_chunk WHERE document_id = {COAST})"
SECOND = "(SELECT id FROM corpus_chunk WHERE ordinal = 1)"
LAST = "(SELECT id FROM corpus_chunk ORDER BY ordinal DESC LIMIT 1)"
ANSWER = "(SELECT id FROM qa_answer WHERE question LIKE 'Who%')"
CITATION = f"(SELECT id FROM qa_citation WHERE answer_id = {ANSWER})"
OTHER = """
INSERT INTO corpus_collection (name, description, embedding_model, dimension, previous_model,
       distance, chunk_strategy, chunk_size, chunk_overlap, chunk_overlap_sentences, chunk_unit,
       language, is_public, created_at, updated_at)
SELECT 'other', '', embedding_model, dimension, '', distance, chunk_strategy, chunk_size, 0, 1,
       chunk_unit, language, false, now(), now() FROM corpus_collection WHERE name = 'default';
"""
OTHER_ID = "(SELECT id FROM corpus_collection WHERE name = 'other')"
ERASE = f"""
UPDATE qa_answer SET kind = 'erased', text = '', draft = NULL, short_start = NULL, short_end = NULL
 WHERE id = {ANSWER};
"""
FORGET = f"""
UPDATE qa_citation SET quote = '', title = '', source_uri = '', heading_path = '[]',
       document_id = NULL, chunk_id = NULL WHERE id = {CITATION};
"""
UNREADABLE = "ALTER TABLE corpus_document DROP CONSTRAINT document_times_can_be_read;"
NEW = """
INSERT INTO corpus_document (id, collection_id, source_uri, source, title, media_type,
       content_sha256, metadata, chapter, section, word_count, char_count, chunk_count,
       status, error, file_path, file_hash, settings_sha256, created_at, updated_at)
SELECT gen_random_uuid(), collection_id, '', '', 'New', media_type, '', '{}', '', '', 0,
       0, 0, 'failed', 'why', '/new', '', '', now(), now()
  FROM corpus_document WHERE title = 'Coast';
"""
UNCUT = {"the end of a document is in no chunk"}

OF_DOCUMENTS: Cases = {
    "a completed document has no chunk": (
        f"UPDATE qa_citation SET chunk_id = NULL; DELETE FROM corpus_tokenvectors;"
        f"DELETE FROM corpus_embedding WHERE chunk_id = {OF_COAST};"
        f"DELETE FROM corpus_chunktag WHERE chunk_id = {OF_COAST};"
        f"UPDATE corpus_document SET chunk_count = 0 WHERE id = {COAST};"
        f"DELETE FROM corpus_chunk WHERE document_id = {COAST}",
        UNCUT | {"a word of no chunk is kept"},
    ),
    "chunk_count of a document is wrong": (
        f"UPDATE corpus_document SET chunk_count = 7 WHERE id = {COAST}"
    ),
    "ordinals of a document are not 0, 1, 2, ...": (
        f"UPDATE corpus_chunk SET ordinal = 77 WHERE id = {LAST}"
    ),
    "a document without a version has chunks": (
        f"DELETE FROM corpus_documentcontent WHERE document_id = {COAST};"
        f"UPDATE corpus_document SET status = 'failed', error = 'why', content_sha256 = ''"
        f" WHERE id = {COAST}"
    ),
    "a document without a version has a text": (
        f"{NEW} INSERT INTO corpus_documentcontent (document_id, text, outline)"
        " SELECT id, 'x', '{}' FROM corpus_document WHERE title = 'New'"
    ),
    "a failed document does not say why": (
        f"{NEW} UPDATE corpus_document SET error = '' WHERE title = 'New'"
    ),
    "a time of a document cannot be read again": (
        f"{UNREADABLE} UPDATE corpus_document SET last_modified = '0044-03-15 BC'"
        f" WHERE id = {COAST}"
    ),
    "a document is pending or processing and no unfinished job has it": (
        f"UPDATE corpus_document SET status = 'processing' WHERE id = {COAST}"
    ),
    "two documents came from one file": "UPDATE corpus_document SET file_path = '/a'",
    "content_sha256 of a document is wrong": (
        f"UPDATE corpus_document SET content_sha256 = repeat('0', 64) WHERE id = {COAST}"
    ),
    "char_count or word_count of a document is wrong": (
        f"UPDATE corpus_document SET word_count = 1 WHERE id = {COAST}"
    ),
    "the outline of a document leaves its text": (
        "UPDATE corpus_documentcontent SET outline = '{\"pages\": [[0, 1], [9999, 2]]}'"
        f" WHERE document_id = {COAST}"
    ),
    "the file that a document was sent as is gone": (
        f"UPDATE corpus_document SET kept_file = 'no/such' WHERE id = {COAST}"
    ),
}
OF_CHUNKS: Cases = {
    "a chunk is in another collection than its document": (
        f"{OTHER} UPDATE corpus_chunk SET collection_id = {OTHER_ID} WHERE id = {SECOND};"
        f"UPDATE corpus_embedding SET collection_id = {OTHER_ID} WHERE chunk_id = {SECOND}"
    ),
    "the language of a chunk is not its collection's": (
        f"UPDATE corpus_chunk SET language = 'simple' WHERE id = {SECOND}"
    ),
    "a chunk of a completed document has no vector of its collection's model": (
        f"DELETE FROM corpus_embedding WHERE chunk_id = {SECOND}"
    ),
    "a chunk is not the span it names": (
        f"UPDATE corpus_chunk SET start_char = start_char + 1 WHERE id = {SECOND}"
    ),
    "a chunk stands before the one it comes after": (
        "UPDATE corpus_chunk SET ordinal = 2 - ordinal WHERE ordinal IN (0, 2)"
        " AND document_id = (SELECT id FROM corpus_document WHERE title = 'Towers')",
        {"text before a chunk is in no chunk"},
    ),
    "text before a chunk is in no chunk": (
        f"UPDATE corpus_chunk SET start_char = 20, text = substr(text, 21), chunk_sha256 ="
        f" encode(sha256(convert_to(substr(text, 21), 'UTF8')), 'hex') WHERE id = {OF_COAST};"
        f"DELETE FROM corpus_embedding WHERE chunk_id = {OF_COAST};"
        f"DELETE FROM corpus_tokenvectors WHERE chunk_id = {OF_COAST}",
        {
            "a chunk of a completed document has no vector of its collection's model",
            "a word of no chunk is kept",
        },
    ),
    "the end of a document is in no chunk": (
        f"UPDATE corpus_documentcontent SET text = text || ' End.' WHERE document_id = {COAST};"
        f"UPDATE corpus_document SET char_count = char_count + 5, word_count = word_count + 1,"
        f" content_sha256 = encode(sha256(convert_to(text, 'UTF8')), 'hex')"
        f" FROM corpus_documentcontent WHERE document_id = id AND id = {COAST}"
    ),
    "chunk_sha256 of a chunk is wrong": (
        f"UPDATE corpus_chunk SET chunk_sha256 = repeat('0', 64) WHERE id = {SECOND}"
    ),
    "ngrams of a chunk are wrong": f"UPDATE corpus_chunk SET ngrams = '東京' WHERE id = {SECOND}",
    "a chunk lacks a tag of its document": f"DELETE FROM corpus_chunktag WHERE chunk_id = {SECOND}",
    "a chunk has a tag that its document lacks": (
        f"DELETE FROM corpus_document_tags WHERE document_id = {COAST}"
    ),
    "the count of a word is wrong": (
        "INSERT INTO corpus_termcount (collection_id, lexeme, chunk_count, token_count)"
        " SELECT id, 'tower', 1, 0 FROM corpus_collection"
    ),
    "a word of no chunk is kept": (
        "INSERT INTO corpus_termcount (collection_id, lexeme, chunk_count, token_count)"
        " SELECT id, 'secret', 0, 0 FROM corpus_collection"
    ),
}
OF_VECTORS: Cases = {
    "a vector is in another collection than its chunk": (
        f"{OTHER} UPDATE corpus_embedding SET collection_id = {OTHER_ID} WHERE chunk_id = {SECOND}"
    ),
    "a vector has not the dimension of its collection": (
        "UPDATE corpus_embedding SET dimension = 2, vector = '[1,0]', model = 'former'"
        f" WHERE chunk_id = {SECOND};"
        "UPDATE corpus_collection SET previous_model = 'former', previous_dimension = 3",
        {
            "a chunk of a completed document has no vector of its collection's model",
            "a collection has no index for its model's vectors",
        },
    ),
    "a vector is not of length 1": (
        f"UPDATE corpus_embedding SET vector = vector * vector WHERE chunk_id = {SECOND}"
    ),
    "a vector is of another text than its chunk's": (
        f"UPDATE corpus_embedding SET input_sha256 = repeat('0', 64) WHERE chunk_id = {SECOND}"
    ),
    "token vectors are of another text than their chunk's": (
        f"UPDATE corpus_tokenvectors SET input_sha256 = repeat('0', 64) WHERE chunk_id = {SECOND}"
    ),
    "token vectors have not the length of their tokens": (
        f"UPDATE corpus_tokenvectors SET token_count = 2 WHERE chunk_id = {SECOND}"
    ),
    "a collection has no index for its model's vectors": (
        "UPDATE corpus_collection SET previous_model = 'unknown', previous_dimension = 3"
    ),
}
OF_COLLECTIONS: Cases = {
    "a collection that always exists is gone": (
        "UPDATE corpus_collection SET name = 'renamed' WHERE name = 'default'"
    ),
    "a collection has no version": "DELETE FROM corpus_collectionchange",
    "what policies know of a collection is not what it says": (
        "UPDATE corpus_collectionaccess SET is_public = true"
    ),
    "a tag is on a document of another collection": (
        f"{OTHER} UPDATE corpus_tag SET collection_id = {OTHER_ID} WHERE name = 'old'",
        {"the count of documents is wrong"},
    ),
    "row-level security is off": "ALTER TABLE corpus_site DISABLE ROW LEVEL SECURITY",
    "a version is of a collection that is gone": (
        "INSERT INTO corpus_collectionchange (id, collection_id) VALUES (gen_random_uuid(), 99)"
    ),
    "the count of documents is wrong": (
        "INSERT INTO corpus_documentcount (collection_id, tag_id, document_count, chunk_count)"
        " SELECT collection_id, id, 1, 0 FROM corpus_tag"
    ),
    "words are counted of a collection that is gone": (
        "INSERT INTO corpus_termcount (collection_id, lexeme, chunk_count, token_count)"
        " VALUES (99, 'secret', 1, 0)"
    ),
    "a tag is not spelled as it is looked for": (
        "UPDATE corpus_tag SET name = 'Old ' WHERE name = 'old'"
    ),
    "a tag of a rule is not spelled as it is looked for": (
        "UPDATE corpus_rule SET tags = ARRAY['Old ']"
    ),
    "a site is refreshed by itself and has no time for it, or the other way": (
        "UPDATE corpus_site SET every_hours = 3"
    ),
    "the host of a site is not that of its address": "UPDATE corpus_site SET host = 'b.org'",
    "a page of a site is not named by a digest": "UPDATE corpus_sitepage SET digest = 'x'",
    "a watched folder is not in the folder that allows it": (
        "UPDATE corpus_watchedfolder SET root = '/srv/abc'"
    ),
    "the job of a watched folder is of another collection": (
        f"{OTHER} UPDATE corpus_watchedfolder SET collection_id = {OTHER_ID}"
    ),
}
OF_WORK: Cases = {
    "a finished job has items that did not end": (
        "UPDATE corpus_jobitem SET status = 'pending', ended_at = NULL;"
        "UPDATE corpus_job SET done = 0"
    ),
    "the counts of a job are not those of its items": "UPDATE corpus_job SET total = 2",
    "a job succeeded with failed items": (
        "UPDATE corpus_jobitem SET status = 'failed', reason = 'why';"
        "UPDATE corpus_job SET done = 0, failed = 1"
    ),
    "a kept reply names a document that is gone": (
        "UPDATE corpus_idempotentrequest SET body = jsonb_set(body, '{document_id}', '\"x\"')"
    ),
    "the file of a document is to be dropped": (
        f"UPDATE corpus_document SET kept_file = 'no/such' WHERE id = {COAST};"
        "INSERT INTO corpus_droppedfile VALUES ('no')",
        {"the file that a document was sent as is gone"},
    ),
    "a tombstone cannot be looked for": "UPDATE corpus_tombstone SET hashes = '\\x00'",
    "a trigger is missing or off": (
        "ALTER TABLE corpus_chunk DISABLE TRIGGER corpus_count_terms_on_delete"
    ),
    "a constraint was never checked": (
        "ALTER TABLE corpus_tag ADD CONSTRAINT late CHECK (name <> 'x') NOT VALID"
    ),
}
OF_ANSWERS: Cases = {
    "an answer cites nothing": f"DELETE FROM qa_citation WHERE id = {CITATION}",
    "the short answer is not a part of its answer": "UPDATE qa_answer SET short_end = 9999",
    "an erased answer has words": (
        f"{ERASE} UPDATE qa_answer SET fallback = 'words' WHERE kind = 'erased';"
        f"UPDATE qa_chatevent SET kind = 'token'"
    ),
    "an answer cites a document that is gone and is not erased": FORGET,
    "the draft of an answer was written from a document that is gone": (
        'UPDATE qa_answer SET draft = \'{"documents": ["x"]}\''
    ),
    "a cell of a grid is of another collection, or of no document": f"""
        INSERT INTO qa_grid
               (id, collection_id, name, questions, tags, folder, seen_version, created_at)
        SELECT gen_random_uuid(), collection_id, 'Grid', '[]', '[]', '', '{{}}', now()
          FROM qa_answer WHERE id = {ANSWER};
        UPDATE qa_answer SET grid_id = (SELECT id FROM qa_grid), asked_document_id = NULL
         WHERE id = {ANSWER}""",
    "citations of an answer are not 0, 1, 2, ...": "UPDATE qa_citation SET ordinal = 1",
    "a citation holds up what is not in its answer": "UPDATE qa_citation SET answer_end = 9999",
    "a quote has not the length of its span": (
        "UPDATE qa_citation SET content_sha256 = repeat('0', 64), end_char = end_char - 1"
    ),
    "the passage around a quote does not hold it": "UPDATE qa_citation SET context_start = 1",
    "a citation has words of a document that is gone": (
        f"{ERASE} {FORGET} UPDATE qa_citation SET title = 'Coast' WHERE document_id IS NULL;"
        "UPDATE qa_chatevent SET kind = 'token'"
    ),
    "the chunk of a citation is of another document": (
        f"UPDATE qa_citation SET chunk_id = {SECOND}"
    ),
    "a citation is not the span it names": (
        "UPDATE qa_citation SET quote = overlay(quote placing 'x' from 2)"
    ),
    "a question was completed from an erased answer": (
        f"{ERASE} UPDATE qa_message SET searched = 'words', created_at = now() + interval '1 min'"
        f" WHERE answer_id <> {ANSWER};"
        "UPDATE qa_chatevent SET kind = 'token'"
    ),
    "a piece of an erased answer can be read again": ERASE,
    "a question is decided and does not say when, or the other way": (
        "UPDATE evaluation_question SET state = 'accepted'"
    ),
    "the quote of a question has not the length of its span": (
        "UPDATE evaluation_question SET content_sha256 = '', quote = 'x'"
    ),
    "a question is not about the span it names": (
        "UPDATE evaluation_question SET quote = overlay(quote placing 'x' from 2)"
    ),
}
BROKEN: Cases = {
    **OF_DOCUMENTS, **OF_CHUNKS, **OF_VECTORS, **OF_COLLECTIONS, **OF_WORK, **OF_ANSWERS,
}  # fmt: skip
