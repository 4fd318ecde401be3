"""What the application's role may do to each table: the owner grants it after migrating."""

from django.db import connection, transaction
from psycopg import sql

from corpus.postgres.owner import application_role

# What was done stays on record, what was migrated is the owner's to say, and what policies know of
# collections a trigger's, which is the owner's.
FEWER = {
    "accounts_event": {"SELECT", "INSERT"},
    "django_migrations": {"SELECT"},
    "corpus_collectionaccess": {"SELECT"},
}

# Two grants of one table at once would fail on its row of the catalogue.
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
    """Let the application's role use each table of this connection's role, and do no more to it.

    What it was granted beyond that is taken back.

    To be called after tables were made. Where one role does all, nothing is granted.
    """
    role = application_role()
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_user")
        if cursor.fetchone() == (role,):
            return
        cursor.execute(_ONE_AT_A_TIME)
        cursor.execute(_IS_GRANTED, {"role": role})
        for name, is_sequence, privilege, is_granted in cursor.fetchall():
            is_wanted = privilege in FEWER.get(name, {privilege})
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
