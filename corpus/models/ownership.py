"""Abstract models of rows that belong to a user."""

from django.conf import settings
from django.db import models

from corpus.access.principal import current_restricted_key_id, current_user_id


class OwnedModel(models.Model):
    """A row that only its user sees.

    Attributes:
        made_by: None for commands and without a login; superusers then see the row.
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
    """A row of one user that names no collection.

    Attributes:
        made_with: The key, if it is restricted to collections; it then sees only its own rows.
    """

    made_with = models.BigIntegerField(
        null=True, blank=True, default=current_restricted_key_id, editable=False
    )

    class Meta:
        abstract = True
