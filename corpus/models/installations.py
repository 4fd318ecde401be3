"""What the processes of one database have in common, wherever they run."""

from collections.abc import Callable, Container

from django.contrib.postgres.fields import ArrayField
from django.db import models, transaction
from django.utils.crypto import salted_hmac

from corpus.access.principal import SYSTEM, acting_as
from corpus.errors import PathIngestionOff
from corpus.roots.host_marker import ensure_marker, read_marker

KEY_CHANGED = (
    "PKB_SECRET_KEY: this process has another secret key than the last one that was started on this"
    " database. Give all of them the same (docs/guides/hosts.md), unless you have"
    " just changed it."
)
FILES_ON_OTHER_HOST = (
    "The files of this installation are on another host: here none is kept, and no job is done that"
    " reads files. Share the folder of uploads, or move: `manage.py home --here`"
    " (docs/guides/hosts.md)."
)
_SALT = "pkb.installation"


class InstallationQuerySet(models.QuerySet["Installation"]):
    def register_key(self) -> bool:
        """Keep whose secret key is in use from now on; whether it is that of the process before.

        Sessions, logins at a provider that have begun, and tombstones are sealed by it: by another
        one a second web process knows nobody, and what it deletes cannot be looked for.
        """
        own = salted_hmac(_SALT, "", algorithm="sha256").hexdigest()
        with acting_as(SYSTEM):
            known = self.values_list("key_digest", flat=True).first()
            if known != own:
                self.update_or_create(pk=1, defaults={"key_digest": own})
        return known in {None, "", own}

    def owns_files(self) -> bool:
        """Tell whether files are kept on this host; of a new installation, on whichever."""
        with acting_as(SYSTEM):
            home = self.values_list("home", flat=True).first()
        try:
            return not home or home == read_marker()
        except OSError:
            # A mark that cannot be read is of files that cannot be.
            return False

    def require_files_here(self) -> None:
        """Refuse what keeps a file, or begins a job that reads some, where nobody would look.

        Raises:
            PathIngestionOff: Files are kept on another host.
        """
        if not self.owns_files():
            raise PathIngestionOff(FILES_ON_OTHER_HOST)

    def claim_files(self, *, force: bool = False) -> bool:
        """Let files be kept on this host unless they are on another; whether they are here.

        Args:
            force: Whatever was before.

        Raises:
            OSError: It is to be so, and nothing can be written.
        """
        try:
            own = ensure_marker()
        except OSError:
            if force:
                raise
            # Where nothing can be written no file is kept.
            return self.owns_files()
        with acting_as(SYSTEM), transaction.atomic():
            self.get_or_create(pk=1)
            (self.exclude(home=own) if force else self.filter(home="")).update(
                home=own, home_workers=[]
            )
        return self.owns_files()

    def home_workers(self) -> set[int]:
        """Return the ids of the workers that were started where the files are kept."""
        with acting_as(SYSTEM):
            return {key for keys in self.values_list("home_workers", flat=True) for key in keys}

    def add_home_worker(self, worker_id: int, *, read_known: Callable[[], Container[int]]) -> None:
        """Keep the id of one more; of those of before only what is known yet."""
        with acting_as(SYSTEM), transaction.atomic():
            self.get_or_create(pk=1)
            [row] = self.select_for_update()
            known = read_known()  # others may have begun before the row was had
            row.home_workers = [*(key for key in row.home_workers if key in known), worker_id]
            row.save(update_fields=["home_workers"])


class Installation(models.Model):
    """The one row by which a process finds out whether it belongs here.

    Attributes:
        key_digest: Of the secret key of the process that was started last; empty: none was.
        home: The mark of the host that has the files that were sent, and those that are synced;
            empty: none was started yet.
        home_workers: What the queue calls the workers that were started there, those that
            have ended since among them.
    """

    id = models.PositiveSmallIntegerField(primary_key=True, default=1, editable=False)
    key_digest = models.CharField(max_length=64, blank=True, default="", db_default="")
    home = models.CharField(max_length=32, blank=True, default="", db_default="")
    home_workers = ArrayField(models.BigIntegerField(), blank=True, default=list, db_default=[])

    objects = InstallationQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(pk=1), name="installation_is_one"),
        ]

    def __str__(self) -> str:
        return "installation"
