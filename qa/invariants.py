"""Invariants of stored answers, citations and conversations."""

from corpus.invariants import Invariants, Quotes

_ANSWERS = {
    "an answer cites nothing": """
        SELECT a.id, a.collection_id FROM qa_answer a WHERE a.kind = 'answer'
           AND NOT EXISTS (SELECT FROM qa_citation c WHERE c.answer_id = a.id)""",
    "the short answer is not a part of its answer": """
        SELECT id, collection_id FROM qa_answer
         WHERE (short_start IS NULL) <> (short_end IS NULL)
            OR short_start >= short_end OR short_end > char_length(text)""",
    "an erased answer has words": """
        SELECT id, collection_id FROM qa_answer
         WHERE kind = 'erased' AND (fallback <> '' OR draft IS NOT NULL OR steps <> '[]'
            OR closest <> '[]' OR disagreement <> '[]' OR unanswered <> '[]'
            OR not_about <> '[]')""",
    "an answer cites a document that is gone and is not erased": """
        SELECT a.id, a.collection_id FROM qa_answer a WHERE a.kind <> 'erased' AND EXISTS (
            SELECT FROM qa_citation c
             WHERE c.answer_id = a.id AND c.document_id IS NULL AND NOT c.is_selected)""",
    "the draft of an answer was written from a document that is gone": """
        SELECT a.id, a.collection_id FROM qa_answer a
         WHERE jsonb_typeof(a.draft->'documents') = 'array' AND EXISTS (
            SELECT FROM jsonb_array_elements_text(a.draft->'documents') named
             WHERE NOT EXISTS (SELECT FROM corpus_document d WHERE d.id::text = named))""",
    "a cell of a grid is of another collection, or of no document": """
        SELECT a.id, a.collection_id FROM qa_answer a JOIN qa_grid g ON g.id = a.grid_id
         WHERE a.collection_id IS DISTINCT FROM g.collection_id OR a.asked_document_id IS NULL""",
}
_CITATIONS = {
    "citations of an answer are not 0, 1, 2, ...": """
        SELECT a.id, a.collection_id FROM qa_answer a JOIN qa_citation c ON c.answer_id = a.id
         GROUP BY a.id HAVING min(c.ordinal) <> 0 OR max(c.ordinal) <> count(*) - 1""",
    "a citation holds up what is not in its answer": """
        SELECT c.id, a.collection_id FROM qa_citation c JOIN qa_answer a ON a.id = c.answer_id
         WHERE c.answer_start > c.answer_end
            OR a.kind = 'answer' AND c.answer_end > char_length(a.text)""",
    "a quote has not the length of its span": """
        SELECT c.id, a.collection_id FROM qa_citation c JOIN qa_answer a ON a.id = c.answer_id
         WHERE c.quote <> '' AND char_length(c.quote) <> c.end_char - c.start_char""",
    "the passage around a quote does not hold it": """
        SELECT c.id, a.collection_id FROM qa_citation c JOIN qa_answer a ON a.id = c.answer_id
         WHERE (c.context_start IS NULL) <> (c.context_end IS NULL)
            OR c.context_start > c.start_char OR c.context_end < c.end_char""",
    "a citation has words of a document that is gone": """
        SELECT c.id, a.collection_id FROM qa_citation c JOIN qa_answer a ON a.id = c.answer_id
         WHERE c.document_id IS NULL AND NOT c.is_selected
           AND (c.quote <> '' OR c.title <> '' OR c.source_uri <> '' OR c.heading_path <> '[]'
             OR c.document_date <> '')""",
    "the chunk of a citation is of another document": """
        SELECT c.id, a.collection_id FROM qa_citation c JOIN qa_answer a ON a.id = c.answer_id
          JOIN corpus_chunk k ON k.id = c.chunk_id
         WHERE k.document_id IS DISTINCT FROM c.document_id""",
}
_CONVERSATIONS = {
    # A language model may have put words of the erased answer into it.
    "a question was completed from an erased answer": """
        SELECT m.id, a.collection_id FROM qa_message m JOIN qa_answer a ON a.id = m.answer_id
         WHERE m.searched <> a.question AND EXISTS (
            SELECT FROM qa_message former JOIN qa_answer said ON said.id = former.answer_id
             WHERE former.session_id = m.session_id AND former.created_at < m.created_at
               AND said.kind = 'erased')""",
    "a piece of an erased answer can be read again": """
        SELECT DISTINCT s.id, a.collection_id FROM qa_chatevent e
          JOIN qa_chatstream s ON s.id = e.stream_id JOIN qa_answer a ON a.id = s.answer_id
         WHERE a.kind = 'erased' AND e.kind = 'chunk'""",
}

INVARIANTS = Invariants(
    tables=_ANSWERS | _CITATIONS | _CONVERSATIONS,
    quotes=[
        Quotes(
            "a citation is not the span it names",
            """
            SELECT c.document_id, c.id, c.start_char, c.end_char, c.quote FROM qa_citation c
              JOIN corpus_document d USING (content_sha256)
             WHERE d.id = c.document_id AND c.document_id = ANY(%s)""",
        )
    ],
)
