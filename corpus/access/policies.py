"""Row-level security, as migrations put it on tables. Pure.

What is written here has been run by migrations: what a later one needs else is a function of its
own.
"""

from collections.abc import Mapping
from typing import NamedTuple

SEES_ALL = "(SELECT pkb_sees_all())"
# Collections of who acts, looked up once a statement.
READABLE = "ANY ((SELECT pkb_readable())::bigint[])"
WRITABLE = "ANY ((SELECT pkb_writable())::bigint[])"
OWNED = "ANY ((SELECT pkb_owned())::bigint[])"
# What nobody made, a command or a time without a login did: it is the superusers'.
# A key that is bound to collections sees of what names none only what was made with it.
WITH_THIS_KEY = "(NOT (SELECT pkb_is_bound()) OR made_with = (SELECT pkb_key_id()))"
MINE = """(made_by_id = (SELECT pkb_user_id())
           OR made_by_id IS NULL AND (SELECT pkb_is_superuser()))"""


class Policy(NamedTuple):
    """Conditions of SQL on a row.

    Attributes:
        read: Who may see it, and keep it in place.
        write: Who may write, change and delete it.
    """

    read: str
    write: str

    @classmethod
    def both(cls, condition: str) -> "Policy":
        return cls(condition, condition)

    @classmethod
    def through(cls, table: str, *, key: str, write: str = "") -> "Policy":
        """Follow the row that ``key`` leads to: who sees that, sees this.

        Args:
            write: What must hold of that row for this one to be written; by default no more.
        """
        found = f"EXISTS (SELECT FROM {table} parent WHERE parent.id = {key}{{}})"
        return cls(found.format(""), found.format(f" AND {write}" if write else ""))


OF_COLLECTION = Policy(f"collection_id = {READABLE}", f"collection_id = {WRITABLE}")
OF_NOBODY = Policy.both("false")

_PUT = """
ALTER TABLE {table} ENABLE ROW LEVEL SECURITY;
ALTER TABLE {table} FORCE ROW LEVEL SECURITY;
CREATE POLICY {table}_read ON {table} FOR SELECT USING ({all} OR ({read}));
CREATE POLICY {table}_insert ON {table} FOR INSERT WITH CHECK ({all} OR ({write}));
CREATE POLICY {table}_update ON {table} FOR UPDATE USING ({all} OR ({read}))
    WITH CHECK ({all} OR ({write}));
CREATE POLICY {table}_delete ON {table} FOR DELETE USING ({all} OR ({write}));
"""
_TAKE = """
DROP POLICY {table}_read ON {table};
DROP POLICY {table}_insert ON {table};
DROP POLICY {table}_update ON {table};
DROP POLICY {table}_delete ON {table};
ALTER TABLE {table} NO FORCE ROW LEVEL SECURITY;
ALTER TABLE {table} DISABLE ROW LEVEL SECURITY;
"""


def put(policies: Mapping[str, Policy]) -> str:
    """Return the SQL that puts policies on tables, by name."""
    return "".join(
        _PUT.format(table=table, all=SEES_ALL, read=policy.read, write=policy.write)
        for table, policy in policies.items()
    )


def take(policies: Mapping[str, Policy]) -> str:
    """Return the SQL that takes them away again."""
    return "".join(_TAKE.format(table=table) for table in policies)
