import django.contrib.postgres.fields
import django.core.validators
import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import corpus.access.principal

# Names must be once again before they can be unique; nothing says which of two would stay.
NAMED_ONCE = """
DO $$ BEGIN
IF EXISTS (SELECT FROM corpus_collection GROUP BY name HAVING count(*) > 1) THEN
  RAISE EXCEPTION 'two users have collections of one name: rename or delete one of them first';
END IF;
END $$;
"""


class Migration(migrations.Migration):

    dependencies = [
        ('auth', '0012_alter_user_first_name_max_length'),
        ('corpus', '0025_say_who_made_jobs'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name='collection',
            name='is_public',
            field=models.BooleanField(default=False, help_text='every user may read it'),
        ),
        migrations.AddField(
            model_name='collection',
            name='owner',
            field=models.ForeignKey(blank=True, default=corpus.access.principal.current_user_id, help_text="none: it is the superusers'", null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AlterField(
            model_name='collection',
            name='name',
            field=models.CharField(max_length=100, validators=[django.core.validators.RegexValidator('^[a-zA-Z][a-zA-Z0-9_-]{0,99}\\Z')]),
        ),
        migrations.RunSQL(migrations.RunSQL.noop, NAMED_ONCE),
        migrations.AddConstraint(
            model_name='collection',
            constraint=models.UniqueConstraint(models.F('owner'), models.F('name'), name='collection_name_once_an_owner', nulls_distinct=False),
        ),
        migrations.CreateModel(
            name='Grant',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('role', models.CharField(choices=[('reader', 'reader: search, ask and read'), ('writer', 'writer: take in, change and delete documents too'), ('owner', 'owner: change and delete the collection and its grants too')], max_length=10)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('collection', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='grants', to='corpus.collection')),
                ('group', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='auth.group')),
                ('user', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['collection', 'id'],
                'constraints': [
                    models.UniqueConstraint(models.F('collection'), models.F('user'), name='grant_once_to_a_user'),
                    models.UniqueConstraint(models.F('collection'), models.F('group'), name='grant_once_to_a_group'),
                    models.CheckConstraint(condition=models.Q(('user', None), ('group', None), _connector='XOR'), name='grant_is_to_a_user_or_a_group'),
                    models.CheckConstraint(condition=models.Q(('role__in', ['reader', 'writer', 'owner'])), name='grant_role_is_known'),
                ],
            },
        ),
        migrations.AddField(
            model_name='job',
            name='bounds',
            field=django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), blank=True, default=corpus.access.principal.current_bounds, editable=False, help_text="ids of the collections that its maker's key was bound to; none: to none", null=True, size=None),
        ),
        migrations.AlterField(
            model_name='job',
            name='made_by',
            field=models.ForeignKey(blank=True, default=corpus.access.principal.current_maker_id, editable=False, help_text="none: a command's or an admin's, or no login was asked for", null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.CreateModel(
            name='CollectionAccess',
            fields=[
                ('collection_id', models.BigIntegerField(primary_key=True, serialize=False)),
                ('owner_id', models.BigIntegerField(null=True)),
                ('is_public', models.BooleanField()),
            ],
        ),
        migrations.AddField(
            model_name='idempotentrequest',
            name='made_by',
            field=models.ForeignKey(blank=True, default=corpus.access.principal.current_user_id, editable=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='idempotentrequest',
            name='made_with',
            field=models.BigIntegerField(blank=True, default=corpus.access.principal.current_bound_key_id, editable=False, null=True),
        ),
        migrations.AlterField(
            model_name='idempotentrequest',
            name='key',
            field=models.CharField(max_length=255),
        ),
        # They are kept for a day or so: of two users' requests by one key neither is needed.
        migrations.RunSQL(migrations.RunSQL.noop, "DELETE FROM corpus_idempotentrequest WHERE made_by_id IS NOT NULL"),
        migrations.AddConstraint(
            model_name='idempotentrequest',
            constraint=models.UniqueConstraint(models.F('made_by'), models.F('made_with'), models.F('key'), name='idempotent_key_once_a_user', nulls_distinct=False),
        ),
    ]
