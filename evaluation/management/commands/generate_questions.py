from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from corpus.errors import PkbError
from corpus.models import DEFAULT_COLLECTION, Collection
from evaluation.questions import Propose, propose_by_lm, propose_by_rules, propose_questions
from qa.context import LANGUAGE_MODEL, answerers


class Command(BaseCommand):
    help = (
        "Propose test questions about a collection, for review in the admin site. The "
        "language model writes them if PKB_LM is set; otherwise rules do."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--collection", default=DEFAULT_COLLECTION, help="name of the collection (default)"
        )
        parser.add_argument("--count", type=int, default=50, help="maximum number of new questions")
        parser.add_argument("--rules", action="store_true", help="do not use the language model")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["count"] < 1:
            raise CommandError("--count is at least 1.", returncode=2)
        uses_rules = options["rules"] or LANGUAGE_MODEL not in answerers
        propose: Propose = propose_by_rules if uses_rules else propose_by_lm
        try:
            collection = Collection.objects.get_named(options["collection"])
            stored = propose_questions(collection, count=options["count"], propose=propose)
        except PkbError as exc:
            raise CommandError(str(exc)) from exc
        for question in stored:
            self.stdout.write(f"{question.text}\n    {question.quote}")
        self.stdout.write(f"{len(stored)} questions proposed; accept them in the admin.")
