import uuid
from pathlib import Path

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import corpus.access.principal

SQL = Path(__file__).with_suffix(".sql")


class Migration(migrations.Migration):

    initial = True

    replaces = [
        ("qa", "0001_initial"),
        ("qa", "0002_sessions"),
        ("qa", "0003_keep_chat_events"),
        ("qa", "0004_feedback"),
        ("qa", "0005_answer_kind"),
        ("qa", "0006_answer_kind_fits"),
        ("qa", "0007_answer_draft"),
        ("qa", "0008_erase_answers"),
        ("qa", "0009_keep_conversations"),
        ("qa", "0010_say_feedback"),
        ("qa", "0011_say_whose_answers"),
        ("qa", "0012_show_answers_to_their_own"),
        ("qa", "0013_keep_places_of_citations"),
        ("qa", "0014_keep_dates_of_citations"),
        ("qa", "0015_answer_intent"),
        ("qa", "0016_mark_passages"),
    ]

    dependencies = [
        ('corpus', '0001_tables'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Answer',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('question', models.TextField()),
                ('text', models.TextField(blank=True)),
                ('kind', models.CharField(choices=[('answer', 'Answer'), ('unsure', 'Unsure'), ('abstained', 'Abstained'), ('erased', 'Erased')], max_length=20)),
                ('intent', models.CharField(blank=True, db_default='', default='', help_text='what was asked for', max_length=20)),
                ('short_start', models.PositiveIntegerField(help_text='where in the text the few words stand that answer', null=True)),
                ('short_end', models.PositiveIntegerField(null=True)),
                ('confidence', models.FloatField()),
                ('answerer', models.CharField(max_length=200)),
                ('fallback', models.TextField(blank=True, help_text='why another answerer stood in')),
                ('embedding_model', models.CharField(max_length=200)),
                ('configuration_sha256', models.CharField(help_text='of the settings in force', max_length=64)),
                ('draft', models.JSONField(blank=True, help_text='what a language model wrote, and what became of it', null=True)),
                ('steps', models.JSONField(default=list, help_text='time, ids and scores of each node')),
                ('closest', models.JSONField(blank=True, default=list, help_text='spans that come nearest')),
                ('disagreement', models.JSONField(blank=True, default=list, help_text='spans that say otherwise')),
                ('unanswered', models.JSONField(blank=True, default=list, help_text='parts of the question that have no answer')),
                ('created_at', models.DateTimeField(db_index=True, default=django.utils.timezone.now, editable=False)),
                ('collection', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='answers', to='corpus.collection')),
                ('made_by', models.ForeignKey(blank=True, default=corpus.access.principal.current_user_id, editable=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['-created_at', 'id'],
            },
        ),
        migrations.CreateModel(
            name='ChatStream',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_index=True, default=django.utils.timezone.now, editable=False)),
                ('finished_at', models.DateTimeField(null=True)),
                ('answer', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='streams', to='qa.answer')),
            ],
        ),
        migrations.CreateModel(
            name='ChatEvent',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('ordinal', models.PositiveIntegerField(help_text='its id in the stream, from 1')),
                ('kind', models.CharField(max_length=20)),
                ('body', models.JSONField()),
                ('document', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='corpus.document')),
                ('stream', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='events', to='qa.chatstream')),
            ],
            options={
                'ordering': ['stream', 'ordinal'],
            },
        ),
        migrations.CreateModel(
            name='Citation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('ordinal', models.PositiveIntegerField()),
                ('content_sha256', models.CharField(max_length=64)),
                ('title', models.CharField(blank=True, max_length=512)),
                ('source_uri', models.CharField(blank=True, max_length=2048)),
                ('heading_path', models.JSONField(default=list)),
                ('page', models.PositiveIntegerField(blank=True, null=True)),
                ('last_page', models.PositiveIntegerField(help_text='not known of answers that were given before it was kept', null=True)),
                ('ocr_confidence', models.FloatField(help_text='of the quote, if OCR read it', null=True)),
                ('document_date', models.CharField(blank=True, db_default='', default='', help_text='a day, month or year', max_length=10)),
                ('quote', models.TextField(blank=True)),
                ('is_selected', models.BooleanField(default=False, help_text='of a text that came with the question, not of a document')),
                ('start_char', models.PositiveIntegerField()),
                ('end_char', models.PositiveIntegerField()),
                ('context_start', models.PositiveIntegerField(help_text='where the paragraph or list begins that the quote stands in', null=True)),
                ('context_end', models.PositiveIntegerField(null=True)),
                ('answer_start', models.PositiveIntegerField()),
                ('answer_end', models.PositiveIntegerField()),
                ('score', models.FloatField()),
                ('support', models.CharField(max_length=20)),
                ('answer', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='citations', to='qa.answer')),
                ('chunk', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='citations', to='corpus.chunk')),
                ('document', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='citations', to='corpus.document')),
            ],
            options={
                'ordering': ['answer', 'ordinal'],
            },
        ),
        migrations.CreateModel(
            name='Feedback',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('rating', models.CharField(choices=[('up', 'Up'), ('down', 'Down')], max_length=10)),
                ('comment', models.TextField(blank=True)),
                ('content_sha256', models.CharField(blank=True, db_default='', default='', max_length=64)),
                ('start_char', models.PositiveIntegerField(blank=True, null=True)),
                ('end_char', models.PositiveIntegerField(blank=True, null=True)),
                ('review', models.CharField(choices=[('waiting', 'Waiting'), ('accepted', 'Accepted'), ('dismissed', 'Dismissed')], default='waiting', max_length=20)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('reviewed_at', models.DateTimeField(blank=True, null=True)),
                ('answer', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='feedback', to='qa.answer')),
                ('document', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='feedback', to='corpus.document')),
            ],
            options={
                'verbose_name_plural': 'feedback',
                'ordering': ['-created_at', 'id'],
            },
        ),
        migrations.CreateModel(
            name='Session',
            fields=[
                ('made_with', models.BigIntegerField(blank=True, default=corpus.access.principal.current_restricted_key_id, editable=False, null=True)),
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('is_kept', models.BooleanField(default=False, help_text='listed, and stays until it is deleted')),
                ('name', models.CharField(blank=True, help_text='empty: it is called by its first question', max_length=200)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('last_used_at', models.DateTimeField(db_index=True, default=django.utils.timezone.now)),
                ('made_by', models.ForeignKey(blank=True, default=corpus.access.principal.current_user_id, editable=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['-last_used_at', 'id'],
            },
        ),
        migrations.CreateModel(
            name='Message',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('searched', models.TextField(help_text='the question as it stands on its own')),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('answer', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='message', to='qa.answer')),
                ('session', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='messages', to='qa.session')),
            ],
            options={
                'ordering': ['session', 'created_at', 'id'],
            },
        ),
        migrations.AddField(
            model_name='chatstream',
            name='session',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='streams', to='qa.session'),
        ),
        migrations.AddConstraint(
            model_name='answer',
            constraint=models.CheckConstraint(condition=models.Q(('confidence__gte', 0), ('confidence__lte', 1)), name='answer_confidence_in_unit_interval'),
        ),
        migrations.AddConstraint(
            model_name='answer',
            constraint=models.CheckConstraint(condition=models.Q(('kind', 'answer'), ('text', ''), _connector='XOR'), name='answer_kind_fits_its_text'),
        ),
        migrations.AddConstraint(
            model_name='chatevent',
            constraint=models.UniqueConstraint(models.F('stream'), models.F('ordinal'), name='chat_event_ordinal_unique'),
        ),
        migrations.AddIndex(
            model_name='citation',
            index=models.Index(condition=models.Q(('is_selected', True), models.Q(('quote', ''), _negated=True)), fields=['answer'], name='citation_of_selected_text'),
        ),
        migrations.AddConstraint(
            model_name='citation',
            constraint=models.UniqueConstraint(models.F('answer'), models.F('ordinal'), name='citation_ordinal_unique'),
        ),
        migrations.AddConstraint(
            model_name='citation',
            constraint=models.CheckConstraint(condition=models.Q(('end_char__gt', models.F('start_char'))), name='citation_span_is_not_empty'),
        ),
        migrations.AddIndex(
            model_name='feedback',
            index=models.Index(models.F('review'), models.F('created_at'), name='feedback_review'),
        ),
        migrations.AddConstraint(
            model_name='feedback',
            constraint=models.CheckConstraint(condition=models.Q(('rating__in', ['up', 'down'])), name='feedback_rating_is_known'),
        ),
        migrations.AddConstraint(
            model_name='feedback',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('review', 'waiting'), ('reviewed_at', None)), models.Q(models.Q(('review', 'waiting'), _negated=True), ('reviewed_at__isnull', False)), _connector='OR'), name='feedback_review_has_its_time'),
        ),
        migrations.AddConstraint(
            model_name='feedback',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('content_sha256', ''), ('document', None), ('end_char', None), ('start_char', None)), models.Q(models.Q(('content_sha256', ''), _negated=True), ('end_char__gt', models.F('start_char')), ('end_char__isnull', False), ('start_char__isnull', False)), _connector='OR'), name='feedback_passage_is_whole_or_none'),
        ),
        migrations.RunSQL(SQL.read_text(), migrations.RunSQL.noop),
    ]
