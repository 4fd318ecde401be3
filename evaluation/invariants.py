"""Invariants of the accepted questions."""

from corpus.invariants import Invariants, Quotes

INVARIANTS = Invariants(
    tables={
        "a question is decided and does not say when, or the other way": """
            SELECT id, collection_id FROM evaluation_question
             WHERE (state = 'proposed') <> (decided_at IS NULL)""",
        "the quote of a question has not the length of its span": """
            SELECT id, collection_id FROM evaluation_question
             WHERE document_id IS NOT NULL AND char_length(quote) <> end_char - start_char""",
    },
    quotes=[
        Quotes(
            "a question is not about the span it names",
            """
            SELECT q.document_id, q.id, q.start_char, q.end_char, q.quote FROM evaluation_question q
              JOIN corpus_document d USING (content_sha256)
             WHERE d.id = q.document_id AND q.document_id = ANY(%s)""",
        )
    ],
)
