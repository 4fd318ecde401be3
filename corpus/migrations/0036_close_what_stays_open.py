"""Close what one injected statement of the role that serves would leave open after it."""

from django.db import migrations

from corpus.access.policies import OWNED, SEES_ALL, WRITABLE

# Policies read this table, so that nothing may be asked before a row of it is read. It is changed
# by the owners of what is granted.
_MAY_GRANT = f"{SEES_ALL} OR collection_id = {OWNED}"
GRANTS = f"""
ALTER TABLE corpus_grant ENABLE ROW LEVEL SECURITY;
ALTER TABLE corpus_grant FORCE ROW LEVEL SECURITY;
CREATE POLICY corpus_grant_read ON corpus_grant FOR SELECT USING (true);
CREATE POLICY corpus_grant_insert ON corpus_grant FOR INSERT WITH CHECK ({_MAY_GRANT});
CREATE POLICY corpus_grant_update ON corpus_grant FOR UPDATE USING ({_MAY_GRANT});
CREATE POLICY corpus_grant_delete ON corpus_grant FOR DELETE USING ({_MAY_GRANT});
"""
NO_GRANTS = """
DROP POLICY corpus_grant_read ON corpus_grant;
DROP POLICY corpus_grant_insert ON corpus_grant;
DROP POLICY corpus_grant_update ON corpus_grant;
DROP POLICY corpus_grant_delete ON corpus_grant;
ALTER TABLE corpus_grant NO FORCE ROW LEVEL SECURITY;
ALTER TABLE corpus_grant DISABLE ROW LEVEL SECURITY;
"""

# The owner's, as only the trigger writes the table. Who could put it on a table of their own could
# write any row by it.
AS_OWNER = """
ALTER FUNCTION corpus_keep_access() SECURITY DEFINER SET search_path = pg_catalog, public;
REVOKE EXECUTE ON FUNCTION corpus_keep_access() FROM PUBLIC;
"""
AS_CALLER = """
ALTER FUNCTION corpus_keep_access() SECURITY INVOKER RESET search_path;
GRANT EXECUTE ON FUNCTION corpus_keep_access() TO PUBLIC;
"""

_TAGS = "tag_id = ANY (ARRAY(SELECT id FROM corpus_tag{}))"
_SEEN = f"{SEES_ALL} OR ({_TAGS.format('')})"
_OWN = f"{_TAGS.format(f' WHERE collection_id = {WRITABLE}')}"
_FORMER = f"{SEES_ALL} OR ({_OWN})"


def _through(table: str, key: str) -> str:
    row = f"SELECT FROM {table} parent WHERE parent.id = {key} AND parent.collection_id = {WRITABLE}"
    return f"{SEES_ALL} OR ({_OWN} AND EXISTS ({row}))"


# Both what carries the tag and the tag are one's own: a foreign key would tell whether a document
# is there, and nobody takes another's tag away by renaming it.
LINKS, FORMER_LINKS = "", ""
for _table, _link in (
    ("corpus_document_tags", _through("corpus_document", "document_id")),
    ("corpus_chunktag", _through("corpus_chunk", "chunk_id")),
):
    LINKS += f"""
ALTER POLICY {_table}_insert ON {_table} WITH CHECK ({_link});
ALTER POLICY {_table}_update ON {_table} USING ({_link}) WITH CHECK ({_link});
"""
    FORMER_LINKS += f"""
ALTER POLICY {_table}_insert ON {_table} WITH CHECK ({_FORMER});
ALTER POLICY {_table}_update ON {_table} USING ({_SEEN}) WITH CHECK ({_FORMER});
"""


class Migration(migrations.Migration):

    dependencies = [("corpus", "0035_keep_words_in_the_row")]

    operations = [
        migrations.RunSQL(GRANTS, NO_GRANTS),
        migrations.RunSQL(AS_OWNER, AS_CALLER),
        migrations.RunSQL(LINKS, FORMER_LINKS),
    ]
