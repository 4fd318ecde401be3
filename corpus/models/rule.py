"""Rules that tag and route new documents."""

import uuid

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils import timezone


class Rule(models.Model):
    """Conditions on a document, and the tags and collection that it then gets.

    All given conditions must hold; of a list, every word or phrase must occur.

    Attributes:
        path: A pattern of the path or URI that clients see, or of its last parts.
        sender: A pattern of the sender of a mail.
        collection: For new documents of the default collection; empty: they stay there.
        is_set: It comes from ``PKB_RULES``, and is deleted when that does not contain it.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=100)
    path = models.CharField(max_length=500, blank=True, default="", help_text="such as invoices/*")
    title = ArrayField(models.CharField(max_length=200), default=list, blank=True)
    words = ArrayField(models.CharField(max_length=200), default=list, blank=True)
    sender = models.CharField(
        max_length=500, blank=True, default="", help_text="such as *@example.org"
    )
    tags = ArrayField(models.CharField(max_length=64), default=list, blank=True)
    collection = models.CharField(
        max_length=100, blank=True, default="", help_text="of what would go into default"
    )
    is_set = models.BooleanField(default=False, editable=False, help_text="by PKB_RULES")
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["name", "is_set"]
        constraints = [
            models.UniqueConstraint("name", "is_set", name="rule_name_unique"),
            models.CheckConstraint(
                condition=~Q(path="", title=[], words=[], sender=""),
                name="rule_has_a_condition",
            ),
            models.CheckConstraint(condition=~Q(tags=[], collection=""), name="rule_has_an_act"),
        ]

    def __str__(self) -> str:
        return self.name
