from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [("qa", "0001_tables")]

    operations = [
        migrations.AddField(
            model_name="answer",
            name="estimate",
            field=models.FloatField(help_text="confidence by the shipped fit in a quote, given or withheld", null=True),
        ),
    ]
