from django.db import migrations, models

from corpus.access.policies import OF_NOBODY, put, take

POLICIES = {"corpus_installation": OF_NOBODY}


class Migration(migrations.Migration):

    dependencies = [("corpus", "0030_keep_document_counts")]

    operations = [
        migrations.CreateModel(
            name="Installation",
            fields=[
                ("id", models.PositiveSmallIntegerField(default=1, editable=False, primary_key=True, serialize=False)),
                ("key_digest", models.CharField(blank=True, db_default="", default="", max_length=64)),
                ("home", models.CharField(blank=True, db_default="", default="", max_length=32)),
            ],
            options={
                "constraints": [models.CheckConstraint(condition=models.Q(("pk", 1)), name="installation_is_one")],
            },
        ),
        migrations.RunSQL(put(POLICIES), take(POLICIES)),
    ]
