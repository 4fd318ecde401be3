from typing import Any

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import corpus.access.principal


def made_by() -> "models.ForeignKey[Any, Any]":
    return models.ForeignKey(blank=True, default=corpus.access.principal.current_user_id, editable=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)


class Migration(migrations.Migration):

    dependencies = [
        ('qa', '0010_say_feedback'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(model_name='answer', name='made_by', field=made_by()),
        migrations.AddField(model_name='session', name='made_by', field=made_by()),
        migrations.AddField(
            model_name='session',
            name='made_with',
            field=models.BigIntegerField(blank=True, default=corpus.access.principal.current_bound_key_id, editable=False, null=True),
        ),
    ]
