from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [("corpus", "0003_file_words")]

    operations = [
        migrations.AddField(
            model_name="collection",
            name="max_wrong_percent",
            field=models.PositiveSmallIntegerField(blank=True, help_text="maximum percentage of wrong answers", null=True),
        ),
        migrations.AddField(
            model_name="collection",
            name="learns_confidence",
            field=models.BooleanField(db_default=True, default=True, help_text="judged answers refit the confidence"),
        ),
        migrations.AddField(
            model_name="collection",
            name="learned_confidence",
            field=models.JSONField(editable=False, help_text="a qa.learned_confidence.LearnedConfidence", null=True),
        ),
        migrations.AddConstraint(
            model_name="collection",
            constraint=models.CheckConstraint(condition=models.Q(("max_wrong_percent", None), ("max_wrong_percent__range", (1, 50)), _connector="OR"), name="collection_max_wrong_percent_is_a_promise"),
        ),
    ]
