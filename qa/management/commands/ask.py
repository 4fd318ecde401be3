import json
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
        if answer.abstained:
            self.stdout.write("The documents do not hold an answer to this.")
        self.stdout.write(answer.text)
        for number, citation in enumerate(answer.citations, start=1):
            path = dict.fromkeys((citation.passage.name, *citation.passage.heading_path))
            where = " > ".join(path)
            span = f"{citation.start_char}-{citation.end_char}"
            self.stdout.write(f"\n[{number}] {where} ({span}, {citation.support})")
            self.stdout.write(f'    "{citation.quote}"')
        self.stdout.write(f"\nconfidence {answer.confidence:.2f}")
