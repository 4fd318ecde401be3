"""Run a question through the graph: as a whole, part by part, over a selected text first."""

from collections.abc import Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any

from qa.asked.comparisons import Side, split_comparison
from qa.asked.mentions import speaks_of
from qa.cancellation import Listener
from qa.context import EXTRACTIVE, QAContext
from qa.proof.parts import JoinedText, join_answers
from qa.questions import asks_for_all, split_question
from qa.search.hybrid import SteadyVersions
from qa.search.selected_text import SelectedText
from qa.state import QAInput
from qa.types import Answer, Citation, Draft, Query

Run = tuple[dict[str, Any], list[dict[str, Any]]]
"""All keys of the graph's state, and what each node did."""


def run_question(inputs: QAInput, context: QAContext, selected_text: str) -> Run:
    """Run a question through the graph; part by part, where documents are quoted.

    A language model is asked all at once: it writes of several passages.
    """
    question = inputs["question"]
    if context.answerer.name != EXTRACTIVE:
        return _run_whole(inputs, context, selected_text)
    if parts := split_question(question):
        return _run_parts(parts, inputs, context, selected_text)
    if sides := split_comparison(question):
        return _run_comparison(sides, inputs, context, selected_text)
    return _run_whole(inputs, context, selected_text)


def _run_comparison(
    sides: Sequence[Side], inputs: QAInput, context: QAContext, selected_text: str
) -> Run:
    """Answer from a place that speaks of all sides, else each side by itself."""
    unheard = replace(context, listener=_Unheard(context.listener))
    whole, steps = _run_whole(inputs, unheard, selected_text)
    proved: Answer = whole["proved"]
    if proved.text and all(speaks_of(proved.text, side.name) for side in sides):
        for text, citation in proved.pieces:
            context.listener.say(text, citation)
        return whole, steps
    parts = [side.question for side in sides]
    state, taken = _run_parts(parts, inputs, context, selected_text)
    return state, _rename(steps, "whole") + taken


def _run_parts(
    parts: Sequence[str], inputs: QAInput, context: QAContext, selected_text: str
) -> Run:
    """Answer each part by itself, and join what is said."""
    listener = _PartListener(context.listener)
    heard = replace(context, listener=listener, retriever=SteadyVersions(context.retriever))
    states: list[dict[str, Any]] = []
    steps: list[dict[str, Any]] = []
    for number, part in enumerate(parts, start=1):
        of_part: QAInput = {**inputs, "question": part}
        listener.joined.begin_part()
        state, taken = _run_whole(of_part, heard, selected_text)
        states.append(state)
        steps += _rename(taken, f"part{number}")
    return {
        "proved": join_answers(inputs["question"], [state["proved"] for state in states]),
        "query": Query(" ".join(state["query"].text for state in states), inputs["collection"]),
        "passages": [each for state in states for each in state.get("passages", ())],
    }, steps


def _rename(steps: Sequence[dict[str, Any]], run: str) -> list[dict[str, Any]]:
    return [{**step, "name": f"{run}.{step['name']}"} for step in steps]


class _Unheard:
    """Passes on how far a run is, and nothing that it says."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener

    def check(self) -> None:
        self._listener.check()

    def begin(self, step: str) -> None:
        self._listener.begin(step)

    def say(self, text: str, citation: Citation) -> None:
        """It may be half of what is asked for."""


class _PartListener(_Unheard):
    """Passes on what is said to each part as it will stand in the whole answer."""

    def __init__(self, listener: Listener) -> None:
        super().__init__(listener)
        self.joined = JoinedText()

    def say(self, text: str, citation: Citation) -> None:
        added = self.joined.add(citation)
        if added is not None:
            self._listener.say(*added)


def _run_whole(inputs: QAInput, context: QAContext, selected_text: str) -> Run:
    """Run the graph over the selected text; over the collection if that holds no answer.

    Not for a summary of "this": the selected text is what is meant, however little it says.
    """
    if not selected_text.strip():
        return _run(inputs, context)
    # Without phrasings: a text this short is read whole.
    selected = replace(context, retriever=SelectedText(selected_text), expansion_count=0)
    state, steps = _run(inputs, selected)
    steps = _rename(steps, "selected")
    if not state["proved"].abstained or asks_for_all(inputs["question"]):
        return state, steps
    whole, further = _run(inputs, context)
    # A selection that may answer is nearer than documents that do not.
    is_nearer = state["proved"].kind == "unsure" and whole["proved"].kind == "abstained"
    return state if is_nearer else whole, steps + further


# What comes after a node where an answer is found; what ends sooner ends at once.
_NEXT = {"parse": "retrieve", "retrieve": "rerank", "rerank": "answer", "answer": "cite"}


def _run(inputs: QAInput, context: QAContext) -> Run:
    """Run the graph; return all its keys and what each node did."""
    from qa.graph import build_graph  # noqa: PLC0415  (LangGraph takes a second to import)

    state: dict[str, Any] = {}
    steps = []
    started = perf_counter()
    context.listener.check()
    for update in build_graph().stream(inputs, context=context, stream_mode="updates"):
        now = perf_counter()
        for node, written in update.items():
            state |= written
            elapsed_ms = round((now - started) * 1000, 2)
            steps.append({"name": node, "ms": elapsed_ms, **_summary(written)})
            if node in _NEXT:
                context.listener.begin(_NEXT[node])
        context.listener.check()
        started = now
    return state, steps


def _summary(written: dict[str, Any]) -> dict[str, Any]:
    """What a node did, without any text of documents."""
    summary: dict[str, Any] = {}
    for value in written.values():
        if isinstance(value, Query):
            summary["searched"] = value.text
            if value.phrasings:
                summary["phrasings"] = list(value.phrasings)
        elif isinstance(value, list):
            summary["passages"] = [
                {
                    "chunk_id": p.chunk_id,
                    "score": round(p.score, 4),
                    "relevance": p.relevance,
                    "reading": p.reading and round(p.reading.score, 3),
                }
                for p in value
            ]
        elif isinstance(value, Draft):
            summary |= {"answerer": value.answerer, "cited": list(value.cited), "note": value.note}
        elif isinstance(value, Answer):
            summary |= {
                "kind": value.kind,
                "answerer": value.answerer,
                "fallback": value.fallback,
                "citations": len(value.citations),
                "confidence": value.confidence,
            }
    return summary
