from django.db import migrations, models

from corpus.access.policies import OF_NOBODY, put, take

POLICIES = {"corpus_droppedfile": OF_NOBODY}


class Migration(migrations.Migration):

    dependencies = [("corpus", "0031_know_the_installation")]

    operations = [
        migrations.CreateModel(
            name="DroppedFile",
            fields=[("folder", models.CharField(max_length=32, primary_key=True, serialize=False))],
        ),
        migrations.RunSQL(put(POLICIES), take(POLICIES)),
    ]
