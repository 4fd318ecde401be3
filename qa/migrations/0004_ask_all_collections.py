import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models

import corpus.access.principal

_OWN = """(SELECT pkb_sees_all()) OR ((made_by_id = (SELECT pkb_user_id())
    OR made_by_id IS NULL AND (SELECT pkb_is_superuser())) AND {readable})"""
_OF_ONE = "collection_id = ANY ((SELECT pkb_readable())::bigint[])"
# What was asked over all collections names none: it is bound by what it quotes.
_OF_ANY = f"""({_OF_ONE} OR collection_id IS NULL
    AND quoted_collections <@ (SELECT pkb_readable())::bigint[]
    AND (NOT (SELECT pkb_is_bound()) OR made_with = (SELECT pkb_key_id())))"""


def _policies(readable: str) -> str:
    rows = f"({_OWN.format(readable=readable)})"
    parts = {
        "delete": f"USING {rows}",
        "insert": f"WITH CHECK {rows}",
        "read": f"USING {rows}",
        "update": f"USING {rows} WITH CHECK {rows}",
    }
    return "".join(f"ALTER POLICY qa_answer_{act} ON qa_answer {sql};" for act, sql in parts.items())


class Migration(migrations.Migration):

    dependencies = [
        ('corpus', '0005_samples'),
        ('qa', '0003_not_about'),
    ]

    operations = [
        migrations.AddField(
            model_name='answer',
            name='asked_document',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='corpus.document'),
        ),
        migrations.AddField(
            model_name='answer',
            name='asked_tags',
            field=models.JSONField(blank=True, db_default=[], default=list),
        ),
        migrations.AddField(
            model_name='answer',
            name='made_with',
            field=models.BigIntegerField(blank=True, default=corpus.access.principal.current_restricted_key_id, editable=False, null=True),
        ),
        migrations.AddField(
            model_name='answer',
            name='quoted_collections',
            field=django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), db_default=[], default=list, editable=False, size=None),
        ),
        migrations.AlterField(
            model_name='answer',
            name='collection',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='answers', to='corpus.collection'),
        ),
        migrations.RunSQL(_policies(_OF_ANY), _policies(_OF_ONE)),
    ]
