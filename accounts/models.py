"""API keys, OpenID identities, setup links, failed logins and the audit log."""

from typing import Any, Self

from django.contrib.auth import get_user_model
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils import timezone
from knox.models import AbstractAuthToken
from knox.settings import CONSTANTS

from corpus.access.principal import Scope

MAX_ACTION_CHARS = 60
MAX_SUBJECT_CHARS = 300
MAX_ADDRESS_CHARS = 45
MAX_NAME_CHARS = 150
# OpenID Connect Core 1.0, section 2.
MAX_IDENTITY_CHARS = 255
SCOPES = [(scope.value, scope.value) for scope in Scope]


class ApiKey(AbstractAuthToken):
    """An API key of a user, stored as its SHA-512.

    Attributes:
        token_key: Prefix of the key, for lookups and display.
    """

    digest = models.CharField(max_length=CONSTANTS.DIGEST_LENGTH, unique=True, editable=False)
    name = models.CharField(max_length=100, help_text="purpose of the key")
    scopes = ArrayField(models.CharField(max_length=20, choices=SCOPES))
    networks = ArrayField(
        models.CharField(max_length=50),
        default=list,
        blank=True,
        help_text="allowed networks, such as 192.0.2.0/24; none: all",
    )
    collections: "ArrayField[Any, Any]" = ArrayField(
        models.BigIntegerField(),
        null=True,
        blank=True,
        help_text="ids of collections that it is limited to; none: all of its user",
    )
    last_used_at = models.DateTimeField(null=True, blank=True, editable=False)
    revoked_at = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        ordering = ["-created"]
        verbose_name = "API key"

    def __str__(self) -> str:
        return f"{self.name} ({self.token_key}…)"

    @property
    def state(self) -> str:
        if self.revoked_at:
            return "revoked"
        return "expired" if self.expiry and self.expiry <= timezone.now() else "active"


class Identity(models.Model):
    """A user's identity at an OpenID provider, by issuer and subject, which never change."""

    user = models.ForeignKey(get_user_model(), models.CASCADE, related_name="identities")
    issuer = models.CharField(max_length=500, help_text="issuer (`iss`) in the provider's tokens")
    subject = models.CharField(
        max_length=MAX_IDENTITY_CHARS, help_text="subject (`sub`) of the user"
    )
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    last_used_at = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        verbose_name_plural = "identities"
        constraints = [
            models.UniqueConstraint(fields=["issuer", "subject"], name="identity_of_issuer")
        ]

    def __str__(self) -> str:
        return f"{self.subject} at {self.issuer}"


class SetupAddress(models.Model):
    """A one-time link to create the first user in a browser; its token is stored as SHA-256."""

    token_sha256 = models.CharField(max_length=64, unique=True)
    expires_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"until {self.expires_at:%H:%M:%S}"


class KnownClient(models.Model):
    """A browser or network from which a user has logged in.

    Attributes:
        client: SHA-256 of the browser's cookie, or the network.
    """

    user = models.ForeignKey(get_user_model(), models.CASCADE, related_name="+")
    client = models.CharField(max_length=64)
    logged_in_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "client"], name="client_of_user")]

    def __str__(self) -> str:
        return f"{self.user_id} from {self.client}"


class FailedLogin(models.Model):
    """A failed login; stored for an hour, and for an existing user until the next login.

    Attributes:
        name: User name of the attempt; empty at an OpenID provider.
        user: The user of that name, if it exists.
        client: A known browser (see ``KnownClient``), or the network.
        is_recorded: The audit log has an ``Event``.
    """

    name = models.CharField(max_length=MAX_NAME_CHARS, blank=True)
    user = models.ForeignKey(get_user_model(), models.CASCADE, null=True, related_name="+")
    client = models.CharField(max_length=64)
    network = models.CharField(max_length=MAX_ADDRESS_CHARS)
    created_at = models.DateTimeField()
    is_recorded = models.BooleanField()

    class Meta:
        indexes = [
            models.Index("name", "created_at", name="failed_of_name"),
            models.Index("network", "created_at", name="failed_from_network"),
            models.Index("created_at", name="failed_strangers", condition=models.Q(user=None)),
            models.Index(
                "created_at", name="failed_unrecorded", condition=models.Q(is_recorded=False)
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} from {self.network}"


class EventQuerySet(models.QuerySet["Event"]):
    def named(self) -> Self:
        """Annotate ``username``, the user's current name; None if there is no user."""
        users = get_user_model().objects.filter(pk=models.OuterRef("user_id"))
        return self.annotate(username=models.Subquery(users.values("username")))


class Event(models.Model):
    """An event of the audit log, which a trigger makes immutable.

    It has no foreign keys, so it stays when its user, key or subject is deleted.

    Attributes:
        subject: Object of the action: an id, an API path, or the user name of a failed login.
        text: The question, with ``PKB_AUDIT_QUESTIONS``.
        count: Number of failed logins in a minute from an IP address or /64; otherwise 1.
    """

    created_at = models.DateTimeField(default=timezone.now, editable=False)
    user_id = models.BigIntegerField(null=True)
    key_id = models.BigIntegerField(null=True)
    action = models.CharField(max_length=MAX_ACTION_CHARS)
    subject = models.CharField(max_length=MAX_SUBJECT_CHARS, blank=True, default="")
    status = models.PositiveSmallIntegerField(null=True, help_text="HTTP status of the response")
    address = models.CharField(max_length=MAX_ADDRESS_CHARS, blank=True, default="")
    text = models.TextField(blank=True, default="")
    count = models.PositiveIntegerField(default=1, db_default=1)

    objects = EventQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at", "-pk"]
        indexes = [models.Index("created_at", name="event_created")]

    def __str__(self) -> str:
        return f"{self.action} {self.subject}"
