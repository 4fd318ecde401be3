"""The question-answering graph: nodes, edges, and nothing else.

    parse -> retrieve -> rerank -> answer -> cite
     |          |  |       |          |
     |          |  |       +-> point  |       documents are sought
     |          |  +-> outline        |       a document, or all, are to be summed up
     +----------+-> abstain <---------+       nothing asked, found or said

The graph is a line: LangGraph runs a step of one node on the caller's thread, and so on the
caller's database connection. Do not fan out, and stream "updates" only.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any, Literal

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from corpus.telemetry import Step, span
from qa.asked.mentions import choose_mentions, find_topic_sought, mentions, point_to
from qa.context import EXTRACTIVE, QAContext
from qa.fallbacks import draft_answer, expand_question, prove_draft, rewrite_question
from qa.proof.outline import Section, tell_outline
from qa.questions import asks_for_all, find_named, is_greeting
from qa.readers.passages import READ_LEAST, read_passages
from qa.search.outline import find_by_name, read_openings, read_sections
from qa.state import QAInput, QAOutput, QAState
from qa.types import CLOSEST_COUNT, Answer, Passage, Query

Update = dict[str, Any]


def parse(state: QAState, runtime: Runtime[QAContext]) -> Update:
    context = runtime.context
    with span(Step.PARSE):
        question = " ".join(state["question"].split())
        rewrite = partial(rewrite_question, question, state["history"], rewriter=context.rewriter)
        text = context.wait_for(rewrite)
        text = find_topic_sought(text) or text
        expand = partial(
            expand_question, text, expander=context.expander, count=context.expansion_count
        )
        phrasings = context.wait_for(expand)
        query = Query(
            text,
            collection=state["collection"],
            tags=state["tags"],
            k=state["k"],
            phrasings=phrasings,
        )
    return {"query": query}


def retrieve(state: QAState, runtime: Runtime[QAContext]) -> Update:
    context, query = runtime.context, state["query"]
    limit = max(query.k, context.rerank_count)
    return {"candidates": context.retrieve(query, limit=limit).passages}


def rerank(state: QAState, runtime: Runtime[QAContext]) -> Update:
    context, query = runtime.context, state["query"]
    with span(Step.RERANK, passages=len(state["candidates"])):
        is_sought = bool(find_topic_sought(state["question"]))
        limit = max(query.k, context.rerank_count) if is_sought else query.k
        best = context.rerank(query.text, state["candidates"], limit=limit)
        if is_sought:
            best = choose_mentions(best, query.text)
        # Each document that is shown has a reading.
        least = CLOSEST_COUNT if is_sought else READ_LEAST
        read = read_passages(query.text, best, reader=context.reader, least=least)
    return {"passages": context.prover.put_newest_first(query.text, read)}


def outline(state: QAState, runtime: Runtime[QAContext]) -> Update:
    query = state["query"]
    sections = _sections(query, state["candidates"])
    if not sections and not asks_for_all(query.text):
        # It may be replaced since it was found: then it is found again.
        sections = _sections(query, retrieve(state, runtime)["candidates"])
    proved = tell_outline(
        state["question"], sections, answerer=EXTRACTIVE, say=runtime.context.listener.say
    )
    return {"proved": proved}


def _sections(query: Query, candidates: Sequence[Passage]) -> list[Section]:
    if asks_for_all(query.text):
        return read_openings(query, candidates)
    named = find_by_name(find_named(query.text), candidates)
    return read_sections(named) if named else []


def answer(state: QAState, runtime: Runtime[QAContext]) -> Update:
    context, question, passages = runtime.context, state["query"].text, state["passages"]
    say = context.listener.say
    unfinished = context.prover.begin(passages, question=question, say=say)
    with span(Step.ANSWER_DSPY, passages=len(passages)):
        write = partial(
            draft_answer,
            question=question,
            passages=passages,
            answerer=context.answerer,
            fallback=context.fallback,
        )
        draft = context.follow(write, hear=unfinished.hear)
    return {"draft": draft, "unfinished": unfinished}


def cite(state: QAState, runtime: Runtime[QAContext]) -> Update:
    with span(Step.CITE):
        proved = prove_draft(state["draft"], state["unfinished"], context=runtime.context)
    return {"proved": replace(proved, question=state["question"])}


def point(state: QAState, runtime: Runtime[QAContext]) -> Update:
    passages, topic = state["passages"], state["query"].text
    proved = runtime.context.prover.hold_back(state["question"], passages)
    # That the words stand there is a reason to look, however sure the reader is.
    is_unsure = proved.is_unsure or mentions(passages[0], topic)
    closest = tuple(point_to(close, topic) for close in proved.closest)
    return {"proved": replace(proved, closest=closest, is_unsure=is_unsure, answerer=EXTRACTIVE)}


def abstain(state: QAState) -> Update:
    draft = state.get("draft")
    answerer = draft.answerer if draft else ""
    proved = Answer(question=state["question"], text="", confidence=0.0, answerer=answerer)
    return {"proved": proved}


def asks_something(state: QAState) -> Literal["retrieve", "abstain"]:
    return "abstain" if is_greeting(state["question"]) else "retrieve"


def has_candidates(state: QAState) -> Literal["rerank", "outline", "abstain"]:
    if not state["candidates"]:
        return "abstain"
    text = state["query"].text
    name = find_named(text)
    is_named = bool(name) and find_by_name(name, state["candidates"]) is not None
    return "outline" if is_named or asks_for_all(text) else "rerank"


def has_topic(state: QAState) -> Literal["point", "answer"]:
    return "point" if find_topic_sought(state["question"]) else "answer"


def has_draft(state: QAState) -> Literal["cite", "abstain"]:
    return "cite" if state["draft"].text or state["unfinished"].is_said else "abstain"


@cache
def build_graph() -> CompiledStateGraph[QAState, QAContext, QAInput, QAOutput]:
    graph = StateGraph(
        QAState, context_schema=QAContext, input_schema=QAInput, output_schema=QAOutput
    )
    for node in (parse, retrieve, rerank, point, outline, answer, cite, abstain):
        graph.add_node(node.__name__, node)
    graph.add_edge(START, "parse")
    graph.add_conditional_edges("parse", asks_something)
    graph.add_conditional_edges("retrieve", has_candidates)
    graph.add_conditional_edges("rerank", has_topic)
    graph.add_conditional_edges("answer", has_draft)
    graph.add_edge("cite", END)
    graph.add_edge("point", END)
    graph.add_edge("outline", END)
    graph.add_edge("abstain", END)
    return graph.compile()
