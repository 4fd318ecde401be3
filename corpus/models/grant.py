"""Shared access to collections."""

from django.conf import settings
from django.contrib.auth.models import Group
from django.db import models
from django.db.models import Q
from django.utils import timezone


class Grant(models.Model):
    """The role of a user or group in a collection of another owner.

    The policies of Postgres read these rows (``pkb_granted``) at each statement, so that a revoked
    grant ends at once. A policy lets only owners write them.
    """

    class Role(models.TextChoices):
        """Each role includes those before it."""

        READER = "reader", "reader: search, ask and read"
        WRITER = "writer", "writer: also add, change and delete documents"
        OWNER = "owner", "owner: also change, share and delete the collection"

    collection = models.ForeignKey("corpus.Collection", models.CASCADE, related_name="grants")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, null=True, blank=True, related_name="+"
    )
    group = models.ForeignKey(Group, models.CASCADE, null=True, blank=True, related_name="+")
    role = models.CharField(max_length=10, choices=Role.choices)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ["collection", "id"]
        constraints = [
            models.UniqueConstraint("collection", "user", name="grant_once_to_a_user"),
            models.UniqueConstraint("collection", "group", name="grant_once_to_a_group"),
            models.CheckConstraint(
                condition=Q(user=None) ^ Q(group=None), name="grant_is_to_a_user_or_a_group"
            ),
            models.CheckConstraint(
                condition=Q(role__in=["reader", "writer", "owner"]), name="grant_role_is_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.role} of {self.collection_id}"


class CollectionAccess(models.Model):
    """A copy of the columns of a collection that the policies read; written by a trigger.

    Every role may read it and ``Grant``: neither contains a name or content. The serving role may
    not write it; the trigger runs as the tables' owner.
    """

    # No foreign key: the trigger removes it with its collection.
    collection_id = models.BigIntegerField(primary_key=True)
    owner_id = models.BigIntegerField(null=True)
    is_public = models.BooleanField()

    def __str__(self) -> str:
        return f"access to {self.collection_id}"
