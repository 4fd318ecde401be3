import asyncio
import os
import signal
from threading import Thread
from time import sleep
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser

from corpus.errors import InvalidInput
from corpus.jobs.run import run_items
from corpus.models import Job
from corpus.rules import keep_set_rules
from corpus.tasks import begin_filling, rescue_left_behind, run_worker
from corpus.watched.watcher import watching_beside

WATCH_EVERY_S = 0.5


class Command(BaseCommand):
    help = (
        "Run background jobs, and watch folders, until SIGINT or SIGTERM; the file at work is"
        " brought to its end."
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--job", type=UUID, help="only help with this job, then end")
        parser.add_argument("--parent", type=int, help="end when this process has ended")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["parent"]:
            Thread(target=_end_with, args=[options["parent"]], daemon=True).start()
        if options["job"]:
            _help_with(options["job"])
            return
        try:
            keep_set_rules()
        except InvalidInput as exc:
            raise CommandError(f"PKB_RULES: {exc}") from exc
        rescue_left_behind()
        begin_filling()
        with watching_beside():
            asyncio.run(run_worker())


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        sleep(WATCH_EVERY_S)
    os.kill(os.getpid(), signal.SIGTERM)


def _help_with(job_id: UUID) -> None:
    signals: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda received, frame: signals.append(received))
    for _ in run_items(Job.objects.get(pk=job_id), should_stop=lambda: bool(signals)):
        pass
