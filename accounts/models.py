"""API keys, logins and failed ones, the address of the first user, and who did what."""

from typing import Any, Self

from django.contrib.auth import get_user_model
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils import timezone
from knox.models import AbstractAuthToken, AuthTokenManager
from knox.settings import CONSTANTS

from corpus.access.principal import Scope

MAX_ACTION_CHARS = 60
MAX_SUBJECT_CHARS = 300
MAX_ADDRESS_CHARS = 45
MAX_NAME_CHARS = 150
# OpenID Connect Core 1.0, section 2.
MAX_IDENTITY_CHARS = 255
SCOPES = [(scope.value, scope.value) for scope in Scope]


class ApiKeyQuerySet(models.QuerySet["ApiKey"]):
    def live(self) -> "ApiKeyQuerySet":
        """Keep keys that open something: neither revoked nor expired."""
        ends = models.Q(expiry=None) | models.Q(expiry__gt=timezone.now())
        return self.filter(ends, revoked_at=None)


class ApiKey(AbstractAuthToken):
    """A key of a user; of the key itself only the SHA-512 is kept.

    Attributes:
        token_key: How it begins, by which it is found and told from others.
    """

    digest = models.CharField(max_length=CONSTANTS.DIGEST_LENGTH, unique=True, editable=False)
    name = models.CharField(max_length=100, help_text="what it is for")
    scopes = ArrayField(models.CharField(max_length=20, choices=SCOPES))
    networks = ArrayField(
        models.CharField(max_length=50),
        default=list,
        blank=True,
        help_text="addresses it may come from, such as 192.0.2.0/24; none: from anywhere",
    )
    collections: "ArrayField[Any, Any]" = ArrayField(
        models.BigIntegerField(),
        null=True,
        blank=True,
        help_text="ids of those it is bound to; none: it opens what its user may",
    )
    last_used_at = models.DateTimeField(null=True, blank=True, editable=False)
    revoked_at = models.DateTimeField(null=True, blank=True, editable=False)

    objects = AuthTokenManager.from_queryset(ApiKeyQuerySet)()

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
    """Who somebody is to an OpenID provider: their name there may change, and the address too."""

    user = models.ForeignKey(get_user_model(), models.CASCADE, related_name="identities")
    issuer = models.CharField(max_length=500, help_text="as the provider calls itself in tokens")
    subject = models.CharField(max_length=MAX_IDENTITY_CHARS, help_text="of the user there (`sub`)")
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
    """The one way to make the first user by a browser; of its token only the SHA-256 is kept."""

    token_sha256 = models.CharField(max_length=64, unique=True)
    expires_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"until {self.expires_at:%H:%M:%S}"


class KnownClient(models.Model):
    """A browser or network from which a user has logged in.

    Attributes:
        client: The SHA-256 of the browser's cookie, or the network's address.
    """

    user = models.ForeignKey(get_user_model(), models.CASCADE, related_name="+")
    client = models.CharField(max_length=64)
    logged_in_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "client"], name="client_of_user")]

    def __str__(self) -> str:
        return f"{self.user_id} from {self.client}"


class FailedLogin(models.Model):
    """A wrong password; kept for an hour, and of a user's name until they were told of it.

    Attributes:
        name: As it was tried; empty at an OpenID provider.
        user: Of that name, if there is one.
        client: What it counts against: a known browser (see ``KnownClient``), or the network.
        is_recorded: An ``Event`` says it.
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
        """Annotate ``username``: of who did it, as they are called today; None of nobody there."""
        users = get_user_model().objects.filter(pk=models.OuterRef("user_id"))
        return self.annotate(username=models.Subquery(users.values("username")))


class Event(models.Model):
    """What somebody did: written once, and never changed (a trigger holds it).

    There are no foreign keys: it stays when its user, key or subject goes.

    Attributes:
        subject: What it was done to: an id, an address of the API, or a name that was tried.
        text: Of a question, with ``PKB_AUDIT_QUESTIONS``.
        count: How often; over 1 only of failed logins of one minute from one address or /64.
    """

    created_at = models.DateTimeField(default=timezone.now, editable=False)
    user_id = models.BigIntegerField(null=True)
    key_id = models.BigIntegerField(null=True)
    action = models.CharField(max_length=MAX_ACTION_CHARS)
    subject = models.CharField(max_length=MAX_SUBJECT_CHARS, blank=True, default="")
    status = models.PositiveSmallIntegerField(null=True, help_text="of the reply, by HTTP")
    address = models.CharField(max_length=MAX_ADDRESS_CHARS, blank=True, default="")
    text = models.TextField(blank=True, default="")
    count = models.PositiveIntegerField(default=1, db_default=1)

    objects = EventQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at", "-pk"]
        indexes = [models.Index("created_at", name="event_created")]

    def __str__(self) -> str:
        return f"{self.action} {self.subject}"
