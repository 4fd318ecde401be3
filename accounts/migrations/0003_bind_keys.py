import django.contrib.postgres.fields
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [("accounts", "0002_keep_events")]

    operations = [
        migrations.AddField(
            "apikey",
            "collections",
            django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), blank=True, help_text="ids of those it is bound to; none: it opens what its user may", null=True, size=None),
        ),
    ]
