from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("qa", "0005_answer_kind")]

    operations = [
        migrations.AddConstraint(
            model_name="answer",
            constraint=models.CheckConstraint(
                condition=models.Q(("kind", "answer"), ("text", ""), _connector="XOR"),
                name="answer_kind_fits_its_text",
            ),
        ),
    ]
