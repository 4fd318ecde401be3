"""Base of the commands that measure or tune with data sets."""

from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError

from corpus.errors import InvalidInput, NotFound, PkbError


class EvaluationCommand(BaseCommand):
    """Exits with 2 if it was called wrongly, and with 1 if something failed."""

    def execute(self, *args: Any, **options: Any) -> str | None:
        self.is_quiet = options["verbosity"] == 0
        try:
            return super().execute(*args, **options)
        except (InvalidInput, NotFound, ImproperlyConfigured) as exc:
            raise CommandError(str(exc), returncode=2) from exc
        except PkbError as exc:
            raise CommandError(str(exc)) from exc

    def report(self, stage: str, done: int, total: int) -> None:
        """Report each tenth of a stage, unless ``--verbosity`` is 0."""
        if not self.is_quiet and (done == total or done % max(1, total // 10) == 0):
            self.stderr.write(f"{stage}: {done} of {total}")
