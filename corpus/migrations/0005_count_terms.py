from typing import Any

import django.contrib.postgres.indexes
from django.contrib.postgres import search
from django.db import migrations, models

LANGUAGES = (
    "simple", "arabic", "danish", "dutch", "english", "finnish", "french", "german", "greek", "hindi",
    "hungarian", "indonesian", "italian", "lithuanian", "norwegian", "portuguese", "romanian",
    "russian", "serbian", "spanish", "swedish", "tamil", "turkish",
)


def search_vector() -> Any:
    stemmers = [models.When(language=name, then=search.SearchConfig(name)) for name in LANGUAGES]
    config = models.Case(*stemmers, default=search.SearchConfig("english"))
    return search.SearchVector("context", "text", config=config) + search.SearchVector("ngrams", config="simple")


# What a statement adds to the counts, and takes from them.
COUNT = """
INSERT INTO corpus_termcount (collection_id, lexeme, chunk_count, token_count)
SELECT collection_id, lexeme, sum(chunks), sum(tokens) FROM (
  {changes}
) changed GROUP BY collection_id, lexeme HAVING sum(chunks) <> 0 OR sum(tokens) <> 0;
"""
CHANGES = """
  SELECT collection_id, '' AS lexeme, {sign}1 AS chunks, {sign}token_count AS tokens FROM {rows}
  UNION ALL
  SELECT c.collection_id, l.lexeme, {sign}1, 0 FROM {rows} c, unnest(c.lexemes) l
"""
ADDED = CHANGES.format(sign="", rows="added")
GONE = CHANGES.format(sign="-", rows="gone")


def trigger(event: str, tables: str, changes: str) -> str:
    name = f"corpus_count_terms_on_{event}"
    return f"""
CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN {COUNT.format(changes=changes)} RETURN NULL; END $$;
CREATE TRIGGER {name} AFTER {event.upper()} ON corpus_chunk REFERENCING {tables}
FOR EACH STATEMENT EXECUTE FUNCTION {name}();
"""


FORGET = """
CREATE FUNCTION corpus_forget_terms() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN DELETE FROM corpus_termcount WHERE collection_id = OLD.id; RETURN NULL; END $$;
CREATE TRIGGER corpus_forget_terms AFTER DELETE ON corpus_collection
FOR EACH ROW EXECUTE FUNCTION corpus_forget_terms();
"""
TRIGGERS = (
    trigger("insert", "NEW TABLE AS added", ADDED),
    trigger("delete", "OLD TABLE AS gone", GONE),
    trigger("update", "NEW TABLE AS added OLD TABLE AS gone", f"{ADDED} UNION ALL {GONE}"),
    FORGET,
)
NO_TRIGGERS = """
DROP FUNCTION corpus_count_terms_on_insert, corpus_count_terms_on_delete,
              corpus_count_terms_on_update, corpus_forget_terms CASCADE;
"""
COUNT_WHAT_IS_THERE = COUNT.format(changes=CHANGES.format(sign="", rows="corpus_chunk"))


class Migration(migrations.Migration):
    dependencies = [("corpus", "0004_jobs")]

    operations = [
        migrations.AddField(
            "collection",
            "language",
            models.CharField(choices=[(name, name) for name in LANGUAGES], default="english", help_text="by which words are stemmed for the lexical leg", max_length=20),
        ),
        migrations.AddField(
            "chunk",
            "language",
            models.CharField(default="english", help_text="its collection's", max_length=20),
        ),
        migrations.AddField(
            "chunk",
            "ngrams",
            models.TextField(blank=True, default="", help_text="of text in scripts without spaces, for the lexical leg"),
        ),
        # The expression of a generated column cannot be changed: the column is made anew.
        migrations.RemoveIndex("chunk", "chunk_lexemes"),
        migrations.RemoveField("chunk", "lexemes"),
        migrations.AddField(
            "chunk",
            "lexemes",
            models.GeneratedField(db_persist=True, expression=search_vector(), output_field=search.SearchVectorField()),
        ),
        migrations.AddIndex(
            "chunk",
            django.contrib.postgres.indexes.GinIndex(fields=["lexemes"], name="chunk_lexemes"),
        ),
        migrations.CreateModel(
            "TermCount",
            [
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("collection_id", models.BigIntegerField()),
                ("lexeme", models.TextField()),
                ("chunk_count", models.BigIntegerField()),
                ("token_count", models.BigIntegerField()),
            ],
            options={"indexes": [models.Index("collection_id", "lexeme", name="term_count_lookup")]},
        ),
        migrations.RunSQL(TRIGGERS, NO_TRIGGERS),
        migrations.RunSQL(COUNT_WHAT_IS_THERE, migrations.RunSQL.noop),
    ]
