"""State of the graph; the nodes that write each key are named beside it."""

from typing import NamedTuple, NotRequired, TypedDict

from qa.intent import Intent
from qa.language_model import VerifiedDraft
from qa.table_answers import Calculation
from qa.types import Answer, Draft, Exchange, Passage, Query


class QAInput(TypedDict):
    question: str
    history: tuple[Exchange, ...]  # oldest first
    collection: str  # a name, or "*"
    tags: tuple[str, ...]
    k: int
    versions: NotRequired[tuple[str, ...]]  # SHA-256 of the documents quoted last, searched alone
    recast: NotRequired[str]  # the last question, asked of a follow-up's new subject
    document: NotRequired[str]  # SHA-256 of the only document asked


class AnsweredPart(NamedTuple):
    """A part of a question with its answer."""

    query: Query
    passages: tuple[Passage, ...]
    answer: Answer


class QAState(QAInput):
    intent: Intent  # parse
    query: Query  # parse, next_part
    candidates: list[Passage]  # retrieve, where something is asked
    passages: list[Passage]  # rerank, then read
    calculation: NotRequired[Calculation | None]  # rerank
    draft: NotRequired[Draft]  # answer
    verified_draft: NotRequired[VerifiedDraft]  # answer
    answered_parts: NotRequired[tuple[AnsweredPart, ...]]  # next_part
    answer: NotRequired[Answer]  # cite, list_documents, count, summarize, abstain, join
