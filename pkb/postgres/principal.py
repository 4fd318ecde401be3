"""Each statement's principal, told to the server: policies of rows read it there."""

from typing import Any

from django.db.backends.postgresql import base
from psycopg import sql
from psycopg.pq import TransactionStatus

from corpus.access.principal import current_principal

# No SELECT: that would be the first query of a transaction whose isolation is still to be chosen.
_TELL = sql.SQL("SET pkb.principal = {}")


class PrincipalMixin(base.DatabaseWrapper):
    """Tells the server for whom the next statements are, whenever that has changed.

    That is asked as a cursor is made, and so at each statement of the ORM: nobody has to remember
    it where a request, a thread or a job begins. A connection that the pool hands on knows whom it
    was told last, and is told nothing twice.
    """

    def create_cursor(self, name: str | None = None) -> Any:
        self._send_principal()
        return super().create_cursor(name)

    def _send_principal(self) -> None:
        connection = self.connection
        wanted = current_principal().as_setting()
        # In a transaction that failed nothing is answered but its rollback.
        has_failed = connection.info.transaction_status == TransactionStatus.INERROR
        if has_failed or getattr(connection, "sent_principal", None) == wanted:
            return
        with self.wrap_database_errors:
            connection.execute(_TELL.format(sql.Literal(wanted)))
        connection.sent_principal = wanted

    def _reset_sent_principal(self) -> None:
        # What was told within is undone with the rest.
        if self.connection is not None:
            self.connection.sent_principal = None

    def _commit(self) -> Any:
        # A transaction that failed is rolled back by it, without a word.
        if self._is_within(TransactionStatus.INERROR):
            self._reset_sent_principal()
        return super()._commit()  # type: ignore[misc]

    def _close(self) -> None:
        # The pool rolls back what is still open.
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
