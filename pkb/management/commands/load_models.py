from typing import Any

from django.core.management.base import BaseCommand, CommandError

from corpus.errors import BackendError
from pkb.preload import question_models
from qa.readers import get_reader


class Command(BaseCommand):
    help = "Load all models that questions need, and convert them into PKB_MODEL_DIR."
    requires_system_checks = []

    def handle(self, *args: Any, **options: Any) -> None:
        for model in (*question_models(), get_reader()):
            try:
                model.load()
            except BackendError as exc:
                raise CommandError(str(exc)) from exc
