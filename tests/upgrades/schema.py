"""What stands in the catalogues: two databases of the same schema say the same."""

from django.db import connection

# The order of columns is left out: one that was taken away and came back is the last.
_PARTS = {
    "column": """
        SELECT c.relname || '.' || a.attname, concat_ws(' ', format_type(a.atttypid, a.atttypmod),
               a.attnotnull, a.attgenerated, a.attidentity, a.attstorage,
               pg_get_expr(d.adbin, d.adrelid))
          FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid AND c.relkind = 'r'
          LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
         WHERE c.relnamespace = 'public'::regnamespace AND a.attnum > 0 AND NOT a.attisdropped""",
    "constraint": """
        SELECT conrelid::regclass || '.' || conname, pg_get_constraintdef(oid) || convalidated
          FROM pg_constraint WHERE connamespace = 'public'::regnamespace""",
    "index": """
        SELECT indexrelid::regclass::text, pg_get_indexdef(indexrelid) || indisvalid
          FROM pg_index JOIN pg_class c ON c.oid = indrelid
         WHERE c.relnamespace = 'public'::regnamespace""",
    "trigger": """
        SELECT tgrelid::regclass || '.' || tgname, pg_get_triggerdef(oid) || tgenabled::text
          FROM pg_trigger WHERE NOT tgisinternal""",
    "function": """
        SELECT p.oid::regprocedure::text, pg_get_functiondef(p.oid) FROM pg_proc p
         WHERE p.pronamespace = 'public'::regnamespace AND p.prokind = 'f' AND NOT EXISTS (
               SELECT FROM pg_depend WHERE objid = p.oid AND deptype = 'e')""",
}


def read_schema() -> dict[str, str]:
    """Return how each column, constraint, index, trigger and function of the database is defined.

    Indexes of vectors are left out: they belong to the models of collections.
    """
    found: dict[str, str] = {}
    for part, query in _PARTS.items():
        with connection.cursor() as cursor:
            cursor.execute(query)
            found |= {f"{part} {name}": definition for name, definition in cursor.fetchall()}
    return {name: each for name, each in found.items() if "embedding_hnsw_" not in name}
