import asyncio
import os
import signal
from contextlib import nullcontext
from threading import Thread
from time import sleep
from typing import Any
from uuid import UUID

import structlog
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError

from corpus.api.outages import translate_error
from corpus.errors import InvalidInput, PkbError
from corpus.jobs.run import run_items
from corpus.models import Job
from corpus.models.installation import FILES_ON_OTHER_HOST, KEY_CHANGED, Installation
from corpus.postgres import ROLE_CHECKS
from corpus.rules import save_configured_rules
from corpus.tasks import begin_filling, recover_abandoned_jobs, run_worker
from corpus.watched.watcher import watch_in_background

log = structlog.get_logger(__name__)

WATCH_EVERY_S = 0.5


class Command(BaseCommand):
    help = (
        "Run background jobs and watch folders. On SIGINT or SIGTERM, finish the current "
        "file and end."
    )
    requires_system_checks = [ROLE_CHECKS]

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--job", type=UUID, help="work on this job only, then end")
        parser.add_argument("--parent", type=int, help="end when this process has ended")
        parser.add_argument("--after", help="how the previous worker ended")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["parent"]:
            Thread(target=_end_with, args=[options["parent"]], daemon=True).start()
        if options["job"]:
            signals: list[int] = []
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, lambda received, frame: signals.append(received))
            job = Job.objects.get(pk=options["job"])
            for _ in run_items(job, should_stop=lambda: bool(signals)):
                pass
            return
        if options["after"]:
            log.warning("worker_started_again", ended_with=options["after"])
        try:
            if not Installation.objects.register_key():
                log.warning("other_secret_key", reason=KEY_CHANGED)
            is_home = Installation.objects.claim_files()
            if is_home:
                try:
                    save_configured_rules()
                except InvalidInput as exc:
                    raise CommandError(f"PKB_RULES: {exc}") from exc
            else:
                log.warning("files_elsewhere", reason=FILES_ON_OTHER_HOST)
            recover_abandoned_jobs()
            begin_filling()
            with watch_in_background() if is_home else nullcontext():
                asyncio.run(run_worker())
        except (PkbError, DatabaseError) as exc:
            error = translate_error(exc)
            if error is None:
                raise
            raise CommandError(str(error)) from exc


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        sleep(WATCH_EVERY_S)
    os.kill(os.getpid(), signal.SIGTERM)
