"""State that all processes of one database share, on whichever host they run."""

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
        """Store a digest of the secret key; return False if the last process had another key.

        Sessions, pending provider logins and tombstones depend on the key: a web process with
        another key accepts no session, and leftovers of what it deletes cannot be found.
        """
        own = salted_hmac(_SALT, "", algorithm="sha256").hexdigest()
        with acting_as(SYSTEM):
            known = self.values_list("key_digest", flat=True).first()
            if known != own:
                self.update_or_create(pk=1, defaults={"key_digest": own})
        return known in {None, "", own}

    def owns_files(self) -> bool:
        """Return whether this host stores the files; True on any host of a new installation."""
        with acting_as(SYSTEM):
            home = self.values_list("home", flat=True).first()
        try:
            return not home or home == read_marker()
        except OSError:
            # If the marker is unreadable, so are the files.
            return False

    def require_files_here(self) -> None:
        """Reject storing or reading files on a host that does not store them.

        Raises:
            PathIngestionOff: Another host stores the files.
        """
        if not self.owns_files():
            raise PathIngestionOff(FILES_ON_OTHER_HOST)

    def claim_files(self, *, force: bool = False) -> bool:
        """Make this host store the files unless another does; return whether it does.

        Args:
            force: Take over from another host.

        Raises:
            OSError: ``force`` is set and the marker cannot be written.
        """
        try:
            own = ensure_marker()
        except OSError:
            if force:
                raise
            # A host that cannot write stores no files.
            return self.owns_files()
        with acting_as(SYSTEM), transaction.atomic():
            self.get_or_create(pk=1)
            (self.exclude(home=own) if force else self.filter(home="")).update(
                home=own, home_workers=[]
            )
        return self.owns_files()

    def home_workers(self) -> set[int]:
        """Return the ids of the workers that were started on the host with the files."""
        with acting_as(SYSTEM):
            return {key for keys in self.values_list("home_workers", flat=True) for key in keys}


class Installation(models.Model):
    """The single row that describes the installation.

    Attributes:
        key_digest: Of the secret key of the last process that started; empty before the first.
        home: The marker of the host with the uploaded and synced files; empty before the first
            process.
        home_workers: Queue ids of the workers that were started there, also of ended ones.
        has_had_samples: The sample documents were ingested, once; they may be deleted since.
    """

    id = models.PositiveSmallIntegerField(primary_key=True, default=1, editable=False)
    key_digest = models.CharField(max_length=64, blank=True, default="", db_default="")
    home = models.CharField(max_length=32, blank=True, default="", db_default="")
    home_workers = ArrayField(models.BigIntegerField(), blank=True, default=list, db_default=[])
    has_had_samples = models.BooleanField(default=False, db_default=False)

    objects = InstallationQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(pk=1), name="installation_is_one"),
        ]

    def __str__(self) -> str:
        return "installation"
