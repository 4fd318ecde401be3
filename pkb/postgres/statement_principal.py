"""Set the principal of each statement on the server, where row-level policies read it."""

from typing import Any

from django.db.backends.postgresql import base
from psycopg import sql
from psycopg.pq import TransactionStatus

from corpus.access.principal import current_principal

# Not SELECT set_config(): a query would prevent SET TRANSACTION ISOLATION LEVEL.
_SET_PRINCIPAL = sql.SQL("SET pkb.principal = {}")


class PrincipalMixin(base.DatabaseWrapper):
    """Sends the current principal to the server before a statement, if it has changed.

    This happens when a cursor is created, so for each ORM statement: requests, threads and jobs
    need no code for it. A pooled connection remembers the principal that was sent last.
    """

    def create_cursor(self, name: str | None = None) -> Any:
        connection, setting = self.connection, current_principal().as_setting()
        # A failed transaction accepts only a rollback.
        has_failed = connection.info.transaction_status == TransactionStatus.INERROR
        if not has_failed and getattr(connection, "sent_principal", None) != setting:
            with self.wrap_database_errors:
                connection.execute(_SET_PRINCIPAL.format(sql.Literal(setting)))
            connection.sent_principal = setting
        return super().create_cursor(name)

    def _reset_sent_principal(self) -> None:
        # A rollback also undoes SET.
        if self.connection is not None:
            self.connection.sent_principal = None

    def _commit(self) -> Any:
        # COMMIT silently rolls back a failed transaction.
        if self._is_within(TransactionStatus.INERROR):
            self._reset_sent_principal()
        return super()._commit()  # type: ignore[misc]

    def _close(self) -> None:
        # The pool rolls back an open transaction.
        if not self._is_within(TransactionStatus.IDLE):
            self._reset_sent_principal()
        super()._close()  # type: ignore[misc]

    def _is_within(self, status: TransactionStatus) -> bool:
        connection = self.connection
        return connection is not None and connection.info.transaction_status == status

    def _rollback(self) -> Any:
        self._reset_sent_principal()
        return super()._rollback()  # type: ignore[misc]

    def _savepoint_rollback(self, sid: str) -> None:
        super()._savepoint_rollback(sid)  # type: ignore[misc]
        self._reset_sent_principal()
