"""Who else may do what with a collection."""

from django.conf import settings
from django.contrib.auth.models import Group
from django.db import models
from django.db.models import Q
from django.utils import timezone


class Grant(models.Model):
    """What a user, or all of a group, may do with a collection that is not theirs.

    Policies of Postgres read these rows (``pkb_granted``), so that none is kept in memory: one that
    is taken back holds for the next statement. Owners alone write them, by a policy.
    """

    class Role(models.TextChoices):
        """Each may what those before it may."""

        READER = "reader", "reader: search, ask and read"
        WRITER = "writer", "writer: take in, change and delete documents too"
        OWNER = "owner", "owner: change and delete the collection and its grants too"

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
    """What policies must know of a collection before they may show its row; kept by a trigger.

    They read it and ``Grant``, which everybody so may: of what a collection is called or holds
    neither tells anything. The role that serves may not write it; the trigger is the owner's.
    """

    # No foreign key: the trigger removes it with its collection.
    collection_id = models.BigIntegerField(primary_key=True)
    owner_id = models.BigIntegerField(null=True)
    is_public = models.BooleanField()

    def __str__(self) -> str:
        return f"access to {self.collection_id}"
