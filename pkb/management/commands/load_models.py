from typing import Any

from django.core.management.base import BaseCommand, CommandError

from corpus.errors import BackendError
from pkb.preload import models_of_a_question
from qa.readers import get_reader


class Command(BaseCommand):
    help = (
        "Load the models that questions need, and with that export or merge what has to be, into\n"
        "PKB_MODEL_DIR: so that an image's first start does not."
    )
    requires_system_checks = []

    def handle(self, *args: Any, **options: Any) -> None:
        for model in (*models_of_a_question(), get_reader()):
            try:
                model.load()
            except BackendError as exc:
                raise CommandError(str(exc)) from exc
