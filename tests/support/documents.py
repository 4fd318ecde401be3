"""Texts and documents for tests."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from corpus.ingestion.document_writer import StoredDocument
from corpus.ingestion.ingest import ingest_submission
from corpus.ingestion.submission import Attributes, IngestOptions, Submission, SubmittedFile
from corpus.models import Collection
from qa.answer_record import AnswerRecord, new_answer_record
from qa.types import Answer, AnsweredQuestion, Citation, ClosePassage
from tests.support.passages import passage

Ingest = Callable[..., StoredDocument]
Quoted = TypeVar("Quoted", Citation, ClosePassage)

LIGHTHOUSE = (
    "The lighthouse at Bavoke was built in 1874 by the engineer Orsolya Quill. "
    "Its lamp burns rapeseed oil and is seen from nineteen nautical miles away. "
    "The tower is thirty-one metres tall and stands on black basalt.\n\n"
    "Every evening the keeper climbs 212 steps to wind the clockwork of the lens. "
    "A second keeper writes the weather into a green book."
)
LIGHTHOUSE_QUESTION = "Who built the lighthouse at Bavoke?"
BAKERY = (
    "The bakery in Lindow opens at five in the morning. It bakes rye bread with caraway, "
    "and sells the first loaves to the fishermen before sunrise. On Mondays it is closed."
)


def long_text(paragraph_count: int = 6) -> str:
    """Paragraphs of about 900 characters, each of its own subject."""
    subjects = ["granary", "foundry", "orchard", "ferry", "library", "quarry", "brewery", "school"]
    paragraphs = []
    for number in range(paragraph_count):
        subject = f"{subjects[number % len(subjects)]} number {number}"
        paragraphs.append(
            " ".join(
                f"Entry {number}.{line} says that the {subject} was mended in {1700 + line}."
                for line in range(14)
            )
        )
    return "\n\n".join(paragraphs)


def ingest_text(
    text: str, *, collection: Collection, attributes: Attributes, **options: Any
) -> StoredDocument:
    submission = Submission(text, attributes, IngestOptions(**options))
    return ingest_submission(submission, collection=collection)


def ingest_file(
    content: bytes, *, filename: str, collection: Collection, attributes: Attributes, **options: Any
) -> StoredDocument:
    file = SubmittedFile(content, filename)
    submission = Submission(file, attributes, IngestOptions(**options))
    return ingest_submission(submission, collection=collection)


def ingest_text_of(collection: Collection) -> Ingest:
    def ingest(text: str, **attributes: Any) -> StoredDocument:
        return ingest_text(text, collection=collection, attributes=Attributes(**attributes))

    return ingest


# As found in a stored document that begins with LIGHTHOUSE.
COAST = passage(
    LIGHTHOUSE,
    start_char=100,
    chunk_id="11111111-1111-4111-8111-111111111111",
    document_id="22222222-2222-4222-8222-222222222222",
    title="Coast",
    source_uri="https://coast.example/bavoke",
    heading_path=("Coast", "Towers"),
    page=3,
)


def close_to(quote: str) -> ClosePassage:
    start = COAST.start_char + LIGHTHOUSE.index(quote)
    return ClosePassage(COAST, start, start + len(quote), 0.3)


FIRST_SENTENCE = LIGHTHOUSE.split("Its lamp", maxsplit=1)[0].strip()
LAST_SENTENCE = "A second keeper writes the weather into a green book."
UNSURE_ANSWER = Answer(
    question=LIGHTHOUSE_QUESTION,
    text="",
    confidence=0.3,
    closest=(close_to(FIRST_SENTENCE), close_to(LAST_SENTENCE)),
    is_unsure=True,
    answerer="extractive",
)
SHORT_ANSWER = Answer(
    question=LIGHTHOUSE_QUESTION,
    text=FIRST_SENTENCE,
    confidence=0.9,
    citations=(
        Citation(
            passage=COAST,
            quote=FIRST_SENTENCE,
            start_char=100,
            end_char=100 + len(FIRST_SENTENCE),
            answer_start=0,
            answer_end=len(FIRST_SENTENCE),
            score=0.9,
            support="supported",
        ),
    ),
    short=(FIRST_SENTENCE.index("Orsolya"), len(FIRST_SENTENCE) - 1),
    answerer="extractive",
)


OTHERWISE_ANSWER = replace(SHORT_ANSWER, disagreement=(close_to(LAST_SENTENCE),))


def of_day(quoted: Quoted, day: str) -> Quoted:
    return replace(quoted, passage=replace(quoted.passage, document_date=day))


DATED_ANSWER = replace(
    SHORT_ANSWER,
    citations=tuple(of_day(each, "2024-05-01") for each in SHORT_ANSWER.citations),
    disagreement=(of_day(close_to(LAST_SENTENCE), "2019"),),
)


def answered(answer: Answer) -> AnsweredQuestion:
    """An answer as if it had been stored."""
    return AnsweredQuestion(
        id="33333333-3333-4333-8333-333333333333",
        answer=answer,
        searched=answer.question,
        passages=(COAST,),
    )


def record_of(answer: Answer) -> AnswerRecord:
    """An answer as interfaces show it."""
    return new_answer_record(answered(answer))


def answer_from(document_id: str, chunk_id: str) -> Answer:
    passage = replace(COAST, document_id=document_id, chunk_id=chunk_id)
    (citation,) = SHORT_ANSWER.citations
    return replace(SHORT_ANSWER, citations=(replace(citation, passage=passage),))
