import json
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from corpus.errors import PkbError
from corpus.models import DEFAULT_COLLECTION
from corpus.tags import normalize_tags
from qa.api.claim_views import ClaimShown
from qa.context import EXTRACTIVE, build_context
from qa.verify_claim import verify_claim


class Command(BaseCommand):
    help = "Check whether a collection or a text supports a claim; print the evidence."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("claim", help="the claim")
        parser.add_argument(
            "--collection", default=DEFAULT_COLLECTION, help="name of the collection (default)"
        )
        parser.add_argument(
            "--tag", action="append", default=[], help="only documents with a tag; repeatable"
        )
        source = parser.add_mutually_exclusive_group()
        source.add_argument("--text", help="check against this text")
        source.add_argument("--file", type=Path, help="check against this UTF-8 text file")
        parser.add_argument(
            "--json", action="store_true", help="print the response of POST /claims/verify"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        text = options["text"]
        if path := options["file"]:
            try:
                text = path.read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError) as exc:
                raise CommandError(f"{path} cannot be read as UTF-8 text: {exc}") from exc
        try:
            verified = verify_claim(
                options["claim"],
                text=text,
                collection=options["collection"],
                tags=normalize_tags(options["tag"]),
                context=build_context(lm=EXTRACTIVE),
            )
        except PkbError as exc:
            raise CommandError(str(exc)) from exc
        if options["json"]:
            self.stdout.write(json.dumps(ClaimShown(verified).data, ensure_ascii=False, indent=2))
        else:
            self.stdout.write(f"{verified.support} ({verified.score:.2f})")
            for number, citation in enumerate(verified.citations, start=1):
                where = citation.passage.name or "the text"
                span = f"{citation.start_char}-{citation.end_char}"
                self.stdout.write(f"\n[{number}] {where} ({span}, {citation.support})")
                self.stdout.write(f'    "{citation.quote}"')
