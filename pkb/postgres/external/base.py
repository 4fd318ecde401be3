"""The engine ``pkb.postgres.external``: Django's, which tells the server who acts."""

from django.db.backends.postgresql import base

from pkb.postgres.principal import PrincipalMixin


class DatabaseWrapper(PrincipalMixin, base.DatabaseWrapper):
    """A connection on which policies of rows know for whom a statement is."""
