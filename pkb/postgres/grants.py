"""What the application's role may do to each table: the owner grants it after migrating."""

from django.db import connection, transaction
from psycopg import sql

from corpus.postgres.owner import application_role

# What was done stays on record, and what was migrated is the owner's to say.
FEWER = {"accounts_event": {"SELECT", "INSERT"}, "django_migrations": {"SELECT"}}

# Two grants of one table at once would fail on its row of the catalogue.
_ONE_AT_A_TIME = "SELECT pg_advisory_xact_lock(0x706b625f6772)"
_LACKING = """
SELECT relname, relkind = 'S', array_agg(privilege)
  FROM pg_class, unnest(CASE relkind WHEN 'S' THEN '{SELECT,USAGE}'
                        ELSE '{SELECT,INSERT,UPDATE,DELETE}' END::text[]) privilege
 WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p', 'v', 'S')
   AND relowner = current_user::regrole
   AND NOT CASE relkind WHEN 'S' THEN has_sequence_privilege(%(role)s, pg_class.oid, privilege)
                        ELSE has_table_privilege(%(role)s, pg_class.oid, privilege) END
 GROUP BY 1, 2 ORDER BY 1
"""


@transaction.atomic
def grant_to_application() -> None:
    """Let the application's role use each table of this connection's role, and do no more to it.

    To be called after tables were made. Where one role does all, nothing is granted.
    """
    role = application_role()
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_user")
        if cursor.fetchone() == (role,):
            return
        cursor.execute(_ONE_AT_A_TIME)
        cursor.execute(_LACKING, {"role": role})
        for name, is_sequence, lacking in cursor.fetchall():
            granted = [each for each in lacking if each in FEWER.get(name, lacking)]
            if granted:
                grant = sql.SQL("GRANT {} ON {} {} TO {}").format(
                    sql.SQL(", ").join(map(sql.SQL, granted)),
                    sql.SQL("SEQUENCE" if is_sequence else "TABLE"),
                    sql.Identifier(name),
                    sql.Identifier(role),
                )
                cursor.execute(grant)
