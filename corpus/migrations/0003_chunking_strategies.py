from typing import Any

from django.db import migrations, models


def name_what_was_done(apps: Any, schema_editor: Any) -> None:
    """What was called "sentence" kept sections apart where there were headings: now "auto"."""
    apps.get_model("corpus", "Collection").objects.filter(chunk_strategy="sentence").update(
        chunk_strategy="auto"
    )


class Migration(migrations.Migration):
    dependencies = [("corpus", "0002_initial")]

    operations = [
        migrations.RenameField("collection", "chunk_overlap", "chunk_overlap_sentences"),
        migrations.AlterField(
            "collection",
            "chunk_overlap_sentences",
            models.PositiveIntegerField(default=1, help_text="sentences that they share where chunk_overlap is 0"),
        ),
        migrations.AddField(
            "collection",
            "chunk_overlap",
            models.PositiveIntegerField(default=0, help_text="most units that neighbouring pieces of one passage share"),
        ),
        migrations.AlterField(
            "collection",
            "chunk_strategy",
            models.CharField(
                choices=[
                    ("auto", "Auto"),
                    ("sentence", "Sentence"),
                    ("structure", "Structure"),
                    ("recursive", "Recursive"),
                    ("semantic", "Semantic"),
                ],
                default="auto",
                max_length=20,
            ),
        ),
        migrations.AlterField(
            "collection",
            "chunk_unit",
            models.CharField(
                choices=[("tokens", "Tokens"), ("cl100k_tokens", "Cl100K Tokens"), ("characters", "Characters")],
                default="tokens",
                max_length=20,
            ),
        ),
        migrations.RunPython(name_what_was_done, migrations.RunPython.noop),
        migrations.AddConstraint(
            "collection",
            models.CheckConstraint(
                condition=models.Q(chunk_size__gte=models.F("chunk_overlap") * 2),
                name="collection_overlap_is_at_most_half",
            ),
        ),
    ]
