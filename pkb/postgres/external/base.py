"""Database engine ``pkb.postgres.external``: Django's, with the principal of each statement."""

from django.db.backends.postgresql import base

from pkb.postgres.statement_principal import PrincipalMixin


class DatabaseWrapper(PrincipalMixin, base.DatabaseWrapper):
    """A connection that sends the current principal to the server."""
