import json
from collections.abc import Callable, Iterator, Mapping
from textwrap import indent
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from corpus.errors import PkbError
from corpus.models import DEFAULT_COLLECTION
from corpus.roots.shown_paths import short_place
from corpus.tags import normalize_tags
from qa import models
from qa.answer_question import answer_question
from qa.answer_record import AnswerShown, new_answer_record
from qa.checks import CONFIGURATION
from qa.context import build_context
from qa.counts import COUNT
from qa.grounding.disagreement import describe_disagreement
from qa.management.running_server import ask_server
from qa.notices import UNANSWERED, UNSURE

# The answer object, or a citation of it, as docs/reference/api.md has them.
AnswerJson = Mapping[str, Any]


class Command(BaseCommand):
    help = (
        "Ask a question; print the answer, its quotes and its confidence. A running server "
        "of this installation does the work, if there is one."
    )
    requires_system_checks = [CONFIGURATION]

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("question", help="the question")
        parser.add_argument(
            "--collection",
            default=DEFAULT_COLLECTION,
            help="name of the collection (default); `*`: all",
        )
        parser.add_argument(
            "--tag", action="append", default=[], help="only documents with a tag; repeatable"
        )
        parser.add_argument("--lm", default="", help="a configured answerer, such as `extractive`")
        parser.add_argument("--json", action="store_true", help="print the answer as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        parameters = {"q": options["question"], "collection": options["collection"]}
        parameters |= {"tag": options["tag"], "lm": options["lm"], "k": settings.PKB_RETRIEVAL_K}
        shown = ask_server(parameters)
        if not shown:
            try:
                answered = answer_question(
                    options["question"],
                    collection=options["collection"],
                    tags=normalize_tags(options["tag"]),
                    k=settings.PKB_RETRIEVAL_K,
                    context=build_context(lm=options["lm"]),
                    route="ask",
                )
            except PkbError as exc:
                raise CommandError(str(exc)) from exc
            shown = dict(AnswerShown(new_answer_record(answered)).data)
        if options["json"]:
            self.stdout.write(json.dumps(shown, ensure_ascii=False, indent=2, default=str))
        else:
            for each in shown["corrections"]:
                self.stdout.write(f"Read {each['word']} as {each['read_as']}.")
            self.stdout.write("\n".join(FORMATTERS[shown["kind"]](shown)))
            if shown["fallback"]:
                self.stdout.write(
                    f"\nAnswered by another answerer than requested: {shown['fallback']}"
                )
            if shown["kind"] == models.Answer.Kind.ANSWER:
                is_count = shown["answerer"] == COUNT
                confidence = f"confidence {shown['confidence']:.2f}"
                self.stdout.write(f"\n{'exact count' if is_count else confidence}")


def _format_answer(shown: AnswerJson) -> Iterator[str]:
    yield shown["answer"]
    if shown["short"]:
        yield f"In short: {shown['short']}"
    for number, citation in enumerate(shown["citations"], start=1):
        # A language model's text is supported by its quotes; an extract is its quotes.
        if citation["quote"] in shown["answer"]:
            yield _format_source(number, citation)
        else:
            yield from _format_quote(number, citation, citation["support"])
    if shown["notice"]:
        yield f"\n{shown['notice']}"
    for part in shown["unanswered"]:
        yield f"\n{UNANSWERED} {part}"
    if shown["disagreement"]:
        dates = (citation["document_date"] or "" for citation in shown["citations"])
        yield f"\n{describe_disagreement(dates)}"
    otherwise = shown["disagreement"] or []
    for number, other in enumerate(otherwise, start=len(shown["citations"]) + 1):
        yield from _format_quote(number, other, other["document_date"] or "")


def _format_closest(shown: AnswerJson) -> Iterator[str]:
    yield UNSURE
    for number, close in enumerate(shown["closest"], start=1):
        yield _format_source(number, close)
        yield indent(close["passage"]["text"], "    ")


def _format_abstention(shown: AnswerJson) -> Iterator[str]:
    yield shown["notice"]


FORMATTERS: dict[str, Callable[[AnswerJson], Iterator[str]]] = {
    "answer": _format_answer,
    "unsure": _format_closest,
    "abstained": _format_abstention,
}


def _format_quote(number: int, quoted: AnswerJson, note: str = "") -> Iterator[str]:
    yield _format_source(number, quoted, note)
    yield f'    "{quoted["quote"]}"'


def _format_source(number: int, quoted: AnswerJson, note: str = "") -> str:
    place = short_place(quoted["source_uri"])
    name = quoted["title"] or place or str(quoted["document_id"])
    where = " > ".join(dict.fromkeys((name, *quoted["heading_path"])))
    page = f"page {quoted['page']}" if quoted["page"] else ""
    details = ", ".join(filter(None, (place if place != name else "", page, note)))
    return f"\n[{number}] {where}" + (f" ({details})" if details else "")
