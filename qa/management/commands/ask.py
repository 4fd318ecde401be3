import json
from collections.abc import Callable, Iterator
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from corpus.errors import PkbError
from corpus.models import DEFAULT_COLLECTION
from corpus.tags import normalize_tags
from qa.answer_question import AnsweredQuestion, answer_question
from qa.api.serializers import AnswerShown
from qa.checks import CONFIGURATION
from qa.context import build_context
from qa.questions import tell_abstention
from qa.types import Answer, Citation, ClosePassage, Kind


class Command(BaseCommand):
    help = "Ask a question; print the answer, its citations with quotes, and its confidence."
    requires_system_checks = [CONFIGURATION]

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("question")
        parser.add_argument("--collection", default=DEFAULT_COLLECTION)
        parser.add_argument("--tag", action="append", default=[], help="any of them; repeat it")
        parser.add_argument("--lm", default="", help="a configured answerer, such as extractive")
        parser.add_argument("--json", action="store_true", help="print the answer object")

    def handle(self, *args: Any, **options: Any) -> None:
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
        if options["json"]:
            self.stdout.write(
                json.dumps(AnswerShown(answered).data, ensure_ascii=False, indent=2, default=str)
            )
        else:
            self._print(answered)

    def _print(self, answered: AnsweredQuestion) -> None:
        answer = answered.answer
        self.stdout.write("\n".join(TOLD[answer.kind](answer)))
        if answer.fallback:
            self.stdout.write(f"\nNot by the answerer that was asked: {answer.fallback}")
        self.stdout.write(f"\nconfidence {answer.confidence:.2f}")


def _tell_answer(answer: Answer) -> Iterator[str]:
    yield answer.text
    if answer.short:
        yield f"In short: {answer.text[slice(*answer.short)]}"
    for number, citation in enumerate(answer.citations, start=1):
        yield from _tell_quote(number, citation, f", {citation.support}")
    for part in answer.unanswered:
        yield f"\nNot answered by the documents: {part}"
    if answer.disagreement:
        yield "\nYour documents disagree:"
    for number, other in enumerate(answer.disagreement, start=len(answer.citations) + 1):
        yield from _tell_quote(number, other)


def _tell_closest(answer: Answer) -> Iterator[str]:
    yield "I am not sure. The closest passages:"
    for number, close in enumerate(answer.closest, start=1):
        yield from _tell_quote(number, close)


def _tell_abstention(answer: Answer) -> Iterator[str]:
    yield tell_abstention(answer.question)


TOLD: dict[Kind, Callable[[Answer], Iterator[str]]] = {
    "answer": _tell_answer,
    "unsure": _tell_closest,
    "abstained": _tell_abstention,
}


def _tell_quote(number: int, quoted: Citation | ClosePassage, note: str = "") -> Iterator[str]:
    where = " > ".join(dict.fromkeys((quoted.passage.name, *quoted.passage.heading_path)))
    yield f"\n[{number}] {where} ({quoted.start_char}-{quoted.end_char}{note})"
    yield f'    "{quoted.quote}"'
