from typing import Any

from django.db import migrations, models


def say_kinds(apps: Any, schema_editor: Any) -> None:
    """What was said before there were kinds is an answer."""
    answers = apps.get_model("qa", "Answer").objects.using(schema_editor.connection.alias)
    answers.exclude(text="").update(kind="answer")


class Migration(migrations.Migration):
    dependencies = [("qa", "0004_feedback")]

    operations = [
        migrations.AddField(
            model_name="answer",
            name="kind",
            field=models.CharField(
                choices=[("answer", "Answer"), ("unsure", "Unsure"), ("abstained", "Abstained")],
                default="abstained",
                max_length=20,
            ),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name="answer",
            name="short_start",
            field=models.PositiveIntegerField(
                help_text="where in the text the few words stand that answer", null=True
            ),
        ),
        migrations.AddField(
            model_name="answer", name="short_end", field=models.PositiveIntegerField(null=True)
        ),
        migrations.AddField(
            model_name="answer",
            name="fallback",
            field=models.TextField(
                blank=True, default="", help_text="why another answerer stood in"
            ),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name="citation",
            name="context_start",
            field=models.PositiveIntegerField(
                help_text="where the paragraph or list begins that the quote stands in",
                null=True,
            ),
        ),
        migrations.AddField(
            model_name="citation", name="context_end", field=models.PositiveIntegerField(null=True)
        ),
        migrations.RunPython(say_kinds, migrations.RunPython.noop),
    ]
