"""The state of the graph. Each key is written by the nodes named beside it."""

from typing import NamedTuple, NotRequired, TypedDict

from qa.intent import Intent
from qa.language_model import VerifiedDraft
from qa.types import Answer, Draft, Exchange, Passage, Query


class QAInput(TypedDict):
    question: str
    history: tuple[Exchange, ...]  # oldest first
    collection: str
    tags: tuple[str, ...]
    k: int


class Answered(NamedTuple):
    """One of several questions that are answered one by one."""

    query: Query
    passages: tuple[Passage, ...]
    answer: Answer


class QAState(QAInput):
    intent: Intent  # parse
    query: Query  # parse, next_part
    candidates: list[Passage]  # retrieve, where something is asked
    passages: list[Passage]  # rerank, then read
    draft: NotRequired[Draft]  # answer
    drafted: NotRequired[VerifiedDraft]  # answer
    answered: NotRequired[tuple[Answered, ...]]  # next_part
    answer: Answer  # cite, list_documents, summarize, abstain, join
