# ruff: noqa: E402  (models can be imported once Django is set up)
"""Simulate a capable language model on real documents, and measure which drafts survive.

    python benchmarks/drafts.py record FOLDER OUT [--answerable N] [--unanswerable N]
    python benchmarks/drafts.py play FOLDER [--variant false] [--unchecked OUT] [--cases] [--paced]
    python benchmarks/drafts.py live FOLDER --api-base URL [--model NAME] [--passage-tokens N]

FOLDER is a data set of documents with questions. ``record`` writes the prompt of each question to a
file of OUT. ``benchmarks/drafts/NAME.jsonl`` has what a model replied, written by hand before the
right answers were looked at: statements, and of each the SHA-1 of the segments that it points at,
so that a reply holds as long as the documents are cut as they were. ``checks.jsonl`` has whether
evidence says a statement. ``play`` is a server on loopback that gives these replies, and prints
JSON: what is said, by the gold strings of the data set, with 95 % intervals. Items that nobody
judged yet are written to ``--unchecked``. ``--paced`` writes as fast as servers do, and tells the
seconds to the first piece of an answer.

A reply's ``variant`` is ``true``, or ``false`` for one in which statements are wrong on purpose:
``lies`` has their places.

``live`` asks a real model behind a server of OpenAI's protocol, and each question without a model,
too. It prints both, question by question, and their figures.
"""

import argparse
import json
import os
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha1, sha256
from math import sqrt
from pathlib import Path
from statistics import median
from time import perf_counter, sleep
from typing import Any

import django

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "pkb.settings")
django.setup()

from dataclasses import replace

from corpus.access.principal import SYSTEM, acting_as
from evaluation.datasets import GoldQuestion, read_dataset
from evaluation.index import index_dataset
from evaluation.metrics import contains_gold
from qa.answer_question import answer_question
from qa.answerers.lm_answerer import LMAnswerer
from qa.concurrency import Listener
from qa.context import QAContext, build_context
from qa.types import AnsweredQuestion
from tests.support.chat_server import Call, chat_server

REPLIES = Path(__file__).resolve().parent / "drafts"
SEGMENT = re.compile(
    r"^(S\d+\.\d+) (.*?)(?=^S\d+(?:\.\d+)?[ \n]|^\[\[ ## |\Z)", re.MULTILINE | re.DOTALL
)
ITEM = re.compile(r"^Item \d+\nEvidence: (.*?)\nStatement: ([^\n]*)$", re.DOTALL | re.MULTILINE)
REFUSAL = json.dumps({"verdict": "", "statements": []})
# Speed of a paced reply: usual for servers, in English.
TOKENS_A_SECOND, CHARACTERS_A_TOKEN = 40, 4


def segments_in(prompt: str) -> dict[str, str]:
    """Return the texts of a prompt's segments by their ids."""
    return {found[1]: found[2].strip() for found in SEGMENT.finditer(prompt)}


def key_of(text: str) -> str:
    return sha1(" ".join(text.split()).encode(), usedforsecurity=False).hexdigest()[:10]


def check_key(statement: str, evidence: str) -> str:
    told = " ".join(f"{statement}\n{evidence}".split())
    return sha256(told.encode()).hexdigest()[:16]


@dataclass(slots=True)
class Model:
    """Replays recorded replies.

    Attributes:
        replies: Replies by question.
        checks: Verdicts by ``check_key``.
        unchecked: Items without a verdict.
        prompts: Prompts by question.
        is_paced: Write ``TOKENS_A_SECOND``.
    """

    replies: dict[str, dict[str, Any]]
    checks: dict[str, str]
    unchecked: dict[str, dict[str, str]] = field(default_factory=dict)
    prompts: dict[str, str] = field(default_factory=dict)
    question: str = ""
    lost: list[str] = field(default_factory=list)
    is_paced: bool = False

    def __call__(self, call: Call) -> None:
        if "Statement: " in call.prompt and "verdicts" in call.prompt:
            reply = self._check(call.prompt)
        else:
            self.prompts[self.question] = call.prompt
            reply = self._draft(call.prompt)
        if reply is None:
            call.send(500, "{}")
        elif call.body.get("stream"):
            call.begin_stream()
            step = CHARACTERS_A_TOKEN if self.is_paced else 200
            for at in range(0, len(reply), step):
                self._pace(step)
                call.stream(reply[at : at + step])
            call.end_stream()
        else:
            self._pace(len(reply))
            message = {"role": "assistant", "content": reply}
            choice = {"index": 0, "finish_reason": "stop", "message": message}
            call.send(200, json.dumps({"id": "c", "model": "m", "choices": [choice]}))

    def _pace(self, characters: int) -> None:
        if self.is_paced:
            sleep(characters / CHARACTERS_A_TOKEN / TOKENS_A_SECOND)

    def _draft(self, prompt: str) -> str:
        reply = self.replies.get(self.question)
        if reply is None:
            return REFUSAL
        ids = {key_of(text): label for label, text in segments_in(prompt).items()}
        statements = []
        for statement in reply["statements"]:
            sources = [ids[key] for key in statement["keys"] if key in ids]
            if len(sources) < len(statement["keys"]):
                self.lost.append(reply["id"])
            statements.append({"sources": sources, "text": statement["text"]})
        return json.dumps({"verdict": reply["verdict"], "statements": statements})

    def _check(self, prompt: str) -> str | None:
        items = ITEM.findall(prompt)
        keys = [check_key(statement, evidence) for evidence, statement in items]
        for key, (evidence, statement) in zip(keys, items, strict=True):
            if key not in self.checks:
                self.unchecked[key] = {
                    "key": key,
                    "question": self.question,
                    "evidence": evidence,
                    "statement": statement,
                }
        if any(key not in self.checks for key in keys):
            return None
        return json.dumps({"verdicts": [self.checks[key] for key in keys]})


def main() -> None:
    options = parse_options()
    dataset = read_dataset(options.folder)
    with acting_as(SYSTEM):
        indexed = index_dataset(dataset, fresh=False, progress=lambda done, total: None)
        address = indexed.collection.qualified_name
        if options.act == "record":
            record(dataset.questions, address, options)
        elif options.act == "live":
            live(dataset.questions, address, options)
        else:
            play(dataset.name, dataset.questions, address, options)


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    acts = parser.add_subparsers(dest="act", required=True)
    recording = acts.add_parser("record")
    recording.add_argument("folder", type=Path)
    recording.add_argument("out", type=Path)
    recording.add_argument("--answerable", type=int, default=30)
    recording.add_argument("--unanswerable", type=int, default=20)
    playing = acts.add_parser("play")
    playing.add_argument("folder", type=Path)
    playing.add_argument("--variant", default="true", choices=["true", "false"])
    playing.add_argument("--unchecked", type=Path)
    playing.add_argument("--cases", action="store_true")
    playing.add_argument("--paced", action="store_true")
    living = acts.add_parser("live")
    living.add_argument("folder", type=Path)
    living.add_argument("--api-base", required=True)
    living.add_argument("--model", default="served")
    living.add_argument("--passage-tokens", type=int, default=7_000)
    living.add_argument("--answerable", type=int, default=40)
    living.add_argument("--unanswerable", type=int, default=20)
    return parser.parse_args()


def drawn(questions: Sequence[GoldQuestion], count: int) -> list[GoldQuestion]:
    """Return a sample of ``count``, by a hash of the ids."""
    return sorted(questions, key=lambda each: sha256(each.id.encode()).digest())[:count]


def record(questions: Sequence[GoldQuestion], address: str, options: argparse.Namespace) -> None:
    answerable = [each for each in questions if each.is_answerable]
    others = [each for each in questions if not each.is_answerable]
    chosen = drawn(answerable, options.answerable) + drawn(others, options.unanswerable)
    model = Model({}, {})
    options.out.mkdir(parents=True, exist_ok=True)
    for question in sorted(chosen, key=lambda each: sha256(each.text.encode()).digest()):
        ask(question.text, address, model)
        (options.out / f"{question.id}.txt").write_text(model.prompts[question.text])


def ask(question: str, address: str, model: Model) -> tuple[AnsweredQuestion, float]:
    """Answer with the model; return also the seconds to the first text."""
    model.question = question
    first: list[float] = []
    started = perf_counter()

    class FirstText(Listener):
        def on_text(self, text: str, citation: object) -> None:
            first.append(perf_counter() - started)

    with chat_server(model) as server:
        answerer = LMAnswerer("openai/played", api_base=f"{server.root}/v1", api_key="none")
        context = with_answerer(build_context(lm="extractive"), answerer)
        answered = answer_question(
            question,
            collection=address,
            k=12,
            context=replace(context, listener=FirstText(), caches_answers=False),
            route="evaluate",
        )
    return answered, first[0] if first else 0.0


def with_answerer(context: QAContext, answerer: LMAnswerer) -> QAContext:
    return replace(context, answerer=answerer, fallback=context.answerer)


def play(
    name: str, questions: Sequence[GoldQuestion], address: str, options: argparse.Namespace
) -> None:
    rows = [
        row for row in read_rows(REPLIES / f"{name}.jsonl") if row["variant"] == options.variant
    ]
    asked = {each.id: each for each in questions}
    checks = {row["key"]: row["verdict"] for row in read_rows(REPLIES / "checks.jsonl")}
    model = Model({asked[row["id"]].text: row for row in rows}, checks, is_paced=options.paced)
    results, seconds = [], []
    for row in rows:
        question = asked[row["id"]]
        answered, first_s = ask(question.text, address, model)
        if first_s:
            seconds.append(first_s)
        results.append((row, question, answered))
        if options.cases:
            show(row, question, answered)
    figures = {**summarize(results), "lost_sources": sorted(set(model.lost))}
    if options.paced:
        figures["seconds to the first piece, p50"] = round(median(seconds), 2)
    print(json.dumps(figures, indent=2))
    if options.unchecked:
        lines = [json.dumps(row) for row in model.unchecked.values()]
        options.unchecked.write_text("".join(f"{line}\n" for line in lines))


def live(questions: Sequence[GoldQuestion], address: str, options: argparse.Namespace) -> None:
    """Ask a model and the extractive answerer the same questions; print JSON lines and figures."""
    answerer = LMAnswerer(
        f"openai/{options.model}", api_base=options.api_base, api_key="none",
        timeout_s=900, passage_tokens=options.passage_tokens,
    )  # fmt: skip
    plain = replace(build_context(lm="extractive"), caches_answers=False)
    contexts = {"without a model": plain, "with the model": with_answerer(plain, answerer)}
    answerable = drawn([each for each in questions if each.is_answerable], options.answerable)
    others = drawn([each for each in questions if not each.is_answerable], options.unanswerable)
    results: dict[str, list[Result]] = {name: [] for name in contexts}
    # In turns, so that a run that is broken off has asked both kinds.
    for question in sorted(
        [*answerable, *others], key=lambda each: sha256(each.text.encode()).digest()
    ):
        line: dict[str, Any] = {"id": question.id, "is_answerable": question.is_answerable}
        for name, context in contexts.items():
            started = perf_counter()
            answered = answer_question(
                question.text, collection=address, k=12, context=context, route="evaluate"
            )
            answer = answered.answer
            drafted = {"statements": [fate.text for fate in answer.statements]}
            results[name].append((drafted, question, answered))
            line[name] = {
                "seconds": round(perf_counter() - started, 1), "kind": answer.kind,
                "answerer": answer.answerer, "fallback": answer.fallback, "text": answer.text,
            }  # fmt: skip
        print(json.dumps(line), file=sys.stderr, flush=True)
    print(json.dumps({name: summarize(rows) for name, rows in results.items()}, indent=2))


def read_rows(path: Path) -> Iterator[dict[str, Any]]:
    if path.exists():
        yield from map(json.loads, path.read_text(encoding="utf-8").splitlines())


Result = tuple[dict[str, Any], GoldQuestion, AnsweredQuestion]


def summarize(results: Sequence[Result]) -> dict[str, Any]:
    def holds(answered: AnsweredQuestion, question: GoldQuestion) -> bool:
        quotes = " ".join(citation.quote for citation in answered.answer.citations)
        return bool(contains_gold(f"{answered.answer.text} {quotes}", question.answers))

    answerable = [each for each in results if each[1].is_answerable]
    drafted = [each for each in answerable if each[0]["statements"]]
    said = [each for each in results if each[2].answer.text]
    right = [each for each in answerable if each[2].answer.text and holds(each[2], each[1])]
    others = [each for each in results if not each[1].is_answerable]
    fates = [
        (fate, at in row.get("lies", []))
        for row, _, answered in results
        for at, fate in enumerate(answered.answer.statements)
    ]
    return {
        "drafted, of the answerable": share(len(drafted), len(answerable)),
        "answered, of the answerable": share(
            sum(bool(e[2].answer.text) for e in answerable), len(answerable)
        ),
        "right by gold strings, of the answerable": share(len(right), len(answerable)),
        "right, of what is said": share(len(right), len(said)),
        "unanswerable answered": share(sum(bool(e[2].answer.text) for e in others), len(others)),
        "by the extract": sum(e[2].answer.answerer == "extractive" for e in said),
        "true statements stated": share(
            sum(f.outcome == "stated" for f, lie in fates if not lie),
            sum(not lie for _, lie in fates),
        ),
        "false statements stated": share(
            sum(f.outcome == "stated" for f, lie in fates if lie), sum(lie for _, lie in fates)
        ),
        "fates": {
            o: sum(f.outcome == o for f, _ in fates)
            for o in ("stated", "quoted", "repeated", "dropped")
        },
    }


def share(count: int, total: int) -> dict[str, Any]:
    """Return a share with its 95 % Wilson interval."""
    if not total:
        return {"share": None, "n": 0}
    z, p = 1.96, count / total
    middle = (p + z * z / (2 * total)) / (1 + z * z / total)
    half = z * sqrt(p * (1 - p) / total + z * z / (4 * total * total)) / (1 + z * z / total)
    return {
        "share": round(p, 3),
        "n": total,
        "interval": [round(middle - half, 3), round(middle + half, 3)],
    }


def show(row: dict[str, Any], question: GoldQuestion, answered: AnsweredQuestion) -> None:
    answer = answered.answer
    print(f"## {question.id} {question.text}\n   gold: {question.answers[:2]}", file=sys.stderr)
    print(
        f"   {answer.kind} {answer.answerer} {answer.confidence:.2f} {answer.fallback}",
        file=sys.stderr,
    )
    print(f"   > {answer.text}", file=sys.stderr)
    for fate in answer.statements:
        print(
            f"   - {fate.outcome}: {fate.text} ({fate.reason}) <{fate.quoted[:100]}>",
            file=sys.stderr,
        )


if __name__ == "__main__":
    main()
