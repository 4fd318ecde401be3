from django.db import migrations, models

# An installation that was started before has had its samples. Without FORCE, the owner may say so.
HAVE_SAMPLES = """
ALTER TABLE corpus_installation NO FORCE ROW LEVEL SECURITY;
UPDATE corpus_installation SET has_had_samples = true;
ALTER TABLE corpus_installation FORCE ROW LEVEL SECURITY;
"""


class Migration(migrations.Migration):

    dependencies = [("corpus", "0004_learned_confidence")]

    operations = [
        migrations.AddField(
            model_name="installation",
            name="has_had_samples",
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.RunSQL(HAVE_SAMPLES, migrations.RunSQL.noop),
    ]
