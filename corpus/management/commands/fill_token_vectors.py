from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from corpus.errors import PkbError
from corpus.models import Collection
from corpus.token_vectors import BATCH_SIZE, fill_token_vectors, search_token_embedder


class Command(BaseCommand):
    help = (
        "Compute missing token vectors now, on all cores; otherwise a worker computes them "
        "over time. If interrupted, run it again: it resumes. Exit 0: none is missing; 1: "
        "the model failed, or documents are being changed; 2: wrong usage."
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--collection", default="", help="default: all collections")

    def handle(self, *args: Any, **options: Any) -> None:
        embedder = search_token_embedder()
        if embedder is None:
            raise CommandError(
                "PKB_TOKEN_VECTORS and RERANKER_MODEL use no token vectors.", returncode=2
            )
        collections = Collection.objects.all()
        try:
            if options["collection"]:
                named = collections.get_named(options["collection"])
                collections = collections.filter(pk=named.pk)
        except PkbError as exc:
            raise CommandError(str(exc), returncode=2) from exc
        try:
            for collection in collections:
                is_full = fill_token_vectors(
                    collection.pk,
                    embedder=embedder,
                    should_stop=lambda: False,
                    at_once=BATCH_SIZE,
                )
                if not is_full:
                    raise CommandError(
                        f"{collection}: vectors are missing. Run the command again.", returncode=1
                    )
                self.stdout.write(f"{collection}: complete")
        except PkbError as exc:
            raise CommandError(str(exc) or exc.title, returncode=1) from exc
