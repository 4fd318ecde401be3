import django.contrib.postgres.fields
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [("corpus", "0032_keep_what_is_to_be_dropped")]

    operations = [
        migrations.AddField(
            model_name="installation",
            name="home_workers",
            field=django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), blank=True, db_default=[], default=list, size=None),
        ),
    ]
