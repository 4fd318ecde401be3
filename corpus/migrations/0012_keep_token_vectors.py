import django.contrib.postgres.indexes
import django.db.models.deletion
from django.db import migrations, models

# Packed vectors look random: compressing them costs time and gains nothing.
STORE_AS_IT_IS = "ALTER TABLE corpus_tokenvectors ALTER COLUMN packed SET STORAGE EXTERNAL"
# The title is part of what is encoded.
FORGET = """
CREATE FUNCTION corpus_forget_token_vectors() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM corpus_tokenvectors t USING corpus_chunk c
   WHERE c.id = t.chunk_id AND c.document_id = NEW.id;
  RETURN NULL;
END $$;
CREATE TRIGGER corpus_forget_token_vectors AFTER UPDATE OF title ON corpus_document
FOR EACH ROW WHEN (OLD.title <> NEW.title) EXECUTE FUNCTION corpus_forget_token_vectors();
"""
FORGET_NO_MORE = "DROP FUNCTION corpus_forget_token_vectors CASCADE"


class Migration(migrations.Migration):
    dependencies = [("corpus", "0011_index_lists")]

    operations = [
        migrations.CreateModel(
            "TokenVectors",
            [
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("model", models.CharField(max_length=200)),
                ("input_sha256", models.CharField(help_text="of the text as it was encoded, hex", max_length=64)),
                ("token_count", models.PositiveIntegerField(help_text="special tokens counted")),
                ("packed", models.BinaryField()),
                ("chunk", models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name="token_vectors", to="corpus.chunk")),
            ],
            options={
                "indexes": [django.contrib.postgres.indexes.HashIndex(fields=["input_sha256"], name="token_vectors_input")],
                "constraints": [
                    models.UniqueConstraint(models.F("chunk"), models.F("model"), name="token_vectors_once_per_model"),
                    models.CheckConstraint(condition=models.Q(("token_count__gt", 0)), name="token_vectors_are_of_tokens"),
                ],
            },
        ),
        # By which what an ingest brought is found; it takes a few kB.
        migrations.AddIndex("chunk", django.contrib.postgres.indexes.BrinIndex(fields=["created_at"], name="chunk_created")),
        migrations.RunSQL(STORE_AS_IT_IS, migrations.RunSQL.noop),
        migrations.RunSQL(FORGET, FORGET_NO_MORE),
    ]
