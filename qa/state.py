"""What flows through the graph. Each key is written by one node."""

from typing import NotRequired, TypedDict

from qa.proof.unfinished import UnfinishedAnswer
from qa.types import Answer, Draft, Exchange, Passage, Query


class QAInput(TypedDict):
    question: str
    history: tuple[Exchange, ...]  # oldest first
    collection: str
    tags: tuple[str, ...]
    k: int


class QAOutput(TypedDict):
    proved: Answer


class QAState(QAInput, QAOutput):
    query: Query  # by parse
    candidates: list[Passage]  # by retrieve, where something is asked
    passages: list[Passage]  # by rerank, where there are candidates
    draft: NotRequired[Draft]  # by answer, where there are candidates
    unfinished: NotRequired[UnfinishedAnswer]  # beside the draft: what was proved of it by then
