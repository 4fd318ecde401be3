"""Background task that creates backups when they are due."""

from datetime import timedelta

import structlog
from django.conf import settings
from django.db import DatabaseError
from procrastinate.contrib.django import app

from corpus.queue import HOME_QUEUE
from pkb.backup.manifest import BackupError
from pkb.backup.rotation import make_backup, read_backups

log = structlog.get_logger(__name__)


@app.periodic(cron="*/10 * * * *")
@app.task(name="pkb.back_up", queue=HOME_QUEUE, queueing_lock="pkb.back_up")
def back_up(timestamp: int) -> None:
    """Create a backup every ``PKB_BACKUP_EVERY_HOURS``, or an hour after a failure."""
    folder = settings.PKB_BACKUP_DIR
    every = timedelta(hours=settings.PKB_BACKUP_EVERY_HOURS)
    if folder is None or not read_backups(folder).is_due(every):
        return
    try:
        backup, manifest = make_backup(folder, keep=settings.PKB_BACKUP_KEEP)
    except (BackupError, DatabaseError, OSError) as exc:
        log.warning("backup_failed", reason=str(exc))
    else:
        log.info("backup_made", name=backup.name, bytes=manifest.bytes)
