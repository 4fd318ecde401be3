"""Play a model that writes word by word, and see when the first proved statement is there.

    python benchmarks/drafts_streamed.py SQUAD2 [--held-out] [--token-ms 25]

Each draft of ``benchmarks/drafts`` is written twice in turns by the scripted server, at one speed:
streamed, and sent whole once it is written. So are the true and the false draft of a question in
one, as a longer answer. Retrieval is not in it: the clock starts when the model is asked, and the
model needs no time to read.

Prints JSON, by the number of a draft's sentences. Of the answers that are given: ``first`` is the
time to the first proved statement of the streamed draft as a share of the time to the whole answer
of the other; ``end`` the same to the end of the streamed one; ``early`` the share of which a
statement was there before the model had written the last word; ``of_extract`` the share that is the
extract's, to which no statement of the draft came first.
"""

import argparse
import json
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from drafts import Drafted, draft_all

from corpus.access.principal import SYSTEM, acting_as
from corpus.sentences import sentence_spans
from qa.answerers.dspy_program import LMAnswerer
from qa.context import QAContext, build_context
from qa.fallbacks import draft_answer, prove_draft
from qa.types import Answer, Citation
from tests.contracts.chat_server import (
    Behaviour,
    Call,
    ChatServer,
    chat_reply,
    chat_server,
    hang,
    written,
)

TOKEN_CHARS = 4


@dataclass(frozen=True, slots=True)
class Timed:
    """An answer with the seconds to its first statement, to its end and to the model's end."""

    answer: Answer
    first_s: float
    end_s: float
    written_s: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--held-out", action="store_true")
    parser.add_argument("--token-ms", type=float, default=25.0)
    options = parser.parse_args()
    drafted = list(draft_all(options.folder, "held_out" if options.held_out else "open"))
    pairs: dict[int, list[tuple[Timed, Timed]]] = defaultdict(list)
    with chat_server(hang) as server:
        model = LMAnswerer("openai/scripted", api_base=f"{server.root}/v1", api_key="none")
        ask = partial(time_answer, server=server, model=model, token_s=options.token_ms / 1000)
        for number, (each, text) in enumerate(texts(drafted)):
            ways = [True, False] if number % 2 else [False, True]
            found = {streamed: ask(each, text, streamed=streamed) for streamed in ways}
            pairs[len(sentence_spans(text))].append((found[True], found[False]))
    report = {f"{count} sentences": summarize(pairs[count]) for count in sorted(pairs)}
    print(json.dumps(report, indent=2))


def texts(drafted: Sequence[Drafted]) -> Iterator[tuple[Drafted, str]]:
    for each in drafted:
        yield each, each.true.text
        yield each, each.false.text
        yield each, f"{each.true.text} {each.false.text}"


def time_answer(
    each: Drafted,
    text: str,
    *,
    server: ChatServer,
    model: LMAnswerer,
    token_s: float,
    streamed: bool,
) -> Timed:
    """Have the draft written and proved, as the graph does."""
    written_at: list[float] = []
    reply = written(text, each.true.cited)
    server.behaviour = writes(reply, token_s=token_s, streamed=streamed, ended=written_at)
    said_at: list[float] = []

    def say(piece: str, citation: Citation) -> None:
        said_at.append(time.perf_counter())

    context = context_of(model)
    began = time.perf_counter()
    unfinished = context.prover.begin(each.passages, question=each.case.question, say=say)
    write = partial(
        draft_answer,
        question=each.case.question,
        passages=each.passages,
        answerer=model,
        fallback=context.fallback,
    )
    draft = context.follow(write, hear=unfinished.hear)
    answer = prove_draft(draft, unfinished, context=context)
    end_s = time.perf_counter() - began
    first_s = said_at[0] - began if said_at else end_s
    return Timed(answer, first_s, end_s, written_at[0] - began)


def context_of(model: LMAnswerer) -> QAContext:
    context = build_context(lm="extractive")
    return replace(context, answerer=model, fallback=context.answerer, rewriter=model)


def writes(reply: str, *, token_s: float, streamed: bool, ended: list[float]) -> Behaviour:
    def behave(call: Call) -> None:
        if streamed:
            call.begin_stream()
        for start in range(0, len(reply), TOKEN_CHARS):
            time.sleep(token_s)
            if streamed:
                call.stream(reply[start : start + TOKEN_CHARS])
        ended.append(time.perf_counter())
        if streamed:
            call.end_stream()
        else:
            call.send(200, chat_reply(reply))

    return behave


def summarize(pairs: Sequence[tuple[Timed, Timed]]) -> dict[str, Any]:
    said = [(live, whole) for live, whole in pairs if whole.answer.text]
    of_draft = [(live, whole) for live, whole in said if not live.answer.fallback]
    same = [live.answer == whole.answer for live, whole in pairs]
    return {
        "drafts": len(pairs),
        "the same answer both ways": sum(same),
        "answers": len(said),
        "of_extract": round(1 - len(of_draft) / len(said), 2),
        "early": share([live.first_s < live.written_s for live, _ in of_draft]),
        "first": middle([live.first_s / whole.end_s for live, whole in of_draft]),
        "end": middle([live.end_s / whole.end_s for live, whole in of_draft]),
        "proof_ms": middle([(whole.end_s - whole.written_s) * 1000 for _, whole in of_draft]),
    }


def share(found: Sequence[bool]) -> float:
    return round(sum(found) / len(found), 2) if found else 0.0


def middle(values: Sequence[float]) -> float:
    return round(median(values), 2) if values else 0.0


if __name__ == "__main__":
    with acting_as(SYSTEM):
        main()
