"""Privileges of the application role on each table, granted by the owner after migrations."""

from django.db import connection, transaction
from psycopg import sql

from corpus.postgres import application_role

# The audit log is append-only. Only the owner records migrations, and only the owner's trigger
# writes the collection access that policies read.
RESTRICTED = {
    "accounts_event": {"SELECT", "INSERT"},
    "django_migrations": {"SELECT"},
    "corpus_collectionaccess": {"SELECT"},
}

# Concurrent grants on a table fail, because both update its catalog row.
_ONE_AT_A_TIME = "SELECT pg_advisory_xact_lock(0x706b625f6772)"
_IS_GRANTED = """
SELECT relname, relkind = 'S', privilege,
       CASE relkind WHEN 'S' THEN has_sequence_privilege(%(role)s, pg_class.oid, privilege)
       ELSE has_table_privilege(%(role)s, pg_class.oid, privilege) END
  FROM pg_class, unnest(CASE relkind WHEN 'S' THEN '{SELECT,USAGE}'
                        ELSE '{SELECT,INSERT,UPDATE,DELETE}' END::text[]) privilege
 WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p', 'v', 'S')
   AND relowner = current_user::regrole
 ORDER BY 1
"""


@transaction.atomic
def grant_to_application() -> None:
    """Grant the application role its privileges on all tables, and revoke all others.

    Call this as the owner, after tables were created. If both roles are the same, do nothing.
    """
    role = application_role()
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_user")
        if cursor.fetchone() == (role,):
            return
        cursor.execute(_ONE_AT_A_TIME)
        cursor.execute(_IS_GRANTED, {"role": role})
        for name, is_sequence, privilege, is_granted in cursor.fetchall():
            is_wanted = privilege in RESTRICTED.get(name, {privilege})
            if is_wanted == is_granted:
                continue
            change = "GRANT {} ON {} {} TO {}" if is_wanted else "REVOKE {} ON {} {} FROM {}"
            cursor.execute(
                sql.SQL(change).format(
                    sql.SQL(privilege),
                    sql.SQL("SEQUENCE" if is_sequence else "TABLE"),
                    sql.Identifier(name),
                    sql.Identifier(role),
                )
            )
