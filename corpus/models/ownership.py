"""Whose a row is."""

from django.conf import settings
from django.db import models

from corpus.access.principal import current_restricted_key_id, current_user_id


class OwnedModel(models.Model):
    """A row of one user, whom nobody else sees it.

    Attributes:
        made_by: None: a command's, or no login was asked for; it is the superusers'.
    """

    made_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.CASCADE,
        null=True,
        blank=True,
        default=current_user_id,
        editable=False,
        related_name="+",
    )

    class Meta:
        abstract = True


class BoundModel(OwnedModel):
    """A row of one user that says nothing of its collection.

    Attributes:
        made_with: The key, if it is bound to collections, which sees what was made with it alone.
    """

    made_with = models.BigIntegerField(
        null=True, blank=True, default=current_restricted_key_id, editable=False
    )

    class Meta:
        abstract = True
