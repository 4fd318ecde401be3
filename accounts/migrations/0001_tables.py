from pathlib import Path

import django.contrib.postgres.fields
import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

SQL = Path(__file__).with_suffix(".sql")


class Migration(migrations.Migration):

    initial = True

    replaces = [
        ("accounts", "0001_initial"),
        ("accounts", "0002_keep_events"),
        ("accounts", "0003_bind_keys"),
        ("accounts", "0004_identity"),
        ("accounts", "0005_count_failed_logins"),
    ]

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='SetupAddress',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('token_sha256', models.CharField(max_length=64, unique=True)),
                ('expires_at', models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name='ApiKey',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('token_key', models.CharField(db_index=True, max_length=25)),
                ('created', models.DateTimeField(auto_now_add=True)),
                ('expiry', models.DateTimeField(blank=True, null=True)),
                ('digest', models.CharField(editable=False, max_length=128, unique=True)),
                ('name', models.CharField(help_text='purpose of the key', max_length=100)),
                ('scopes', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(choices=[('read', 'read'), ('ingest', 'ingest'), ('admin', 'admin')], max_length=20), size=None)),
                ('networks', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=50), blank=True, default=list, help_text='allowed networks, such as 192.0.2.0/24; none: all', size=None)),
                ('collections', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), blank=True, help_text='ids of collections that it is limited to; none: all of its user', null=True, size=None)),
                ('last_used_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('revoked_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='auth_token_set', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'API key',
                'ordering': ['-created'],
            },
        ),
        migrations.CreateModel(
            name='Event',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('user_id', models.BigIntegerField(null=True)),
                ('key_id', models.BigIntegerField(null=True)),
                ('action', models.CharField(max_length=60)),
                ('subject', models.CharField(blank=True, default='', max_length=300)),
                ('status', models.PositiveSmallIntegerField(help_text='HTTP status of the response', null=True)),
                ('address', models.CharField(blank=True, default='', max_length=45)),
                ('text', models.TextField(blank=True, default='')),
                ('count', models.PositiveIntegerField(db_default=1, default=1)),
            ],
            options={
                'ordering': ['-created_at', '-pk'],
                'indexes': [models.Index(models.F('created_at'), name='event_created')],
            },
        ),
        migrations.CreateModel(
            name='Identity',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('issuer', models.CharField(help_text="issuer (`iss`) in the provider's tokens", max_length=500)),
                ('subject', models.CharField(help_text='subject (`sub`) of the user', max_length=255)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('last_used_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='identities', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name_plural': 'identities',
                'constraints': [models.UniqueConstraint(fields=('issuer', 'subject'), name='identity_of_issuer')],
            },
        ),
        migrations.CreateModel(
            name='FailedLogin',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(blank=True, max_length=150)),
                ('client', models.CharField(max_length=64)),
                ('network', models.CharField(max_length=45)),
                ('created_at', models.DateTimeField()),
                ('is_recorded', models.BooleanField()),
                ('user', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'indexes': [models.Index(models.F('name'), models.F('created_at'), name='failed_of_name'), models.Index(models.F('network'), models.F('created_at'), name='failed_from_network'), models.Index(models.F('created_at'), condition=models.Q(('user', None)), name='failed_strangers'), models.Index(models.F('created_at'), condition=models.Q(('is_recorded', False)), name='failed_unrecorded')],
            },
        ),
        migrations.CreateModel(
            name='KnownClient',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('client', models.CharField(max_length=64)),
                ('logged_in_at', models.DateTimeField()),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('user', 'client'), name='client_of_user')],
            },
        ),
        migrations.RunSQL(SQL.read_text(), migrations.RunSQL.noop),
    ]
