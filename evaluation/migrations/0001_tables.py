import uuid
from pathlib import Path

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

SQL = Path(__file__).with_suffix(".sql")


class Migration(migrations.Migration):

    initial = True

    replaces = [
        ("evaluation", "0001_questions"),
        ("evaluation", "0002_show_questions_to_writers"),
    ]

    dependencies = [
        ('corpus', '0001_tables'),
    ]

    operations = [
        migrations.CreateModel(
            name='Question',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('text', models.CharField(max_length=2000)),
                ('answers', models.JSONField(blank=True, default=list, help_text='texts, any of them is right')),
                ('quote', models.TextField(blank=True, help_text='of the document, verbatim')),
                ('start_char', models.PositiveIntegerField(default=0)),
                ('end_char', models.PositiveIntegerField(default=0)),
                ('content_sha256', models.CharField(blank=True, help_text='of the version that the span is of', max_length=64)),
                ('state', models.CharField(choices=[('proposed', 'Proposed'), ('accepted', 'Accepted'), ('rejected', 'Rejected')], default='proposed', max_length=20)),
                ('origin', models.CharField(choices=[('generated', 'Generated'), ('feedback', 'Feedback')], max_length=20)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('decided_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('collection', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='questions', to='corpus.collection')),
                ('document', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='questions', to='corpus.document')),
            ],
            options={
                'ordering': ['-created_at', 'id'],
                'constraints': [models.UniqueConstraint(models.F('collection'), models.F('text'), name='question_once_in_collection'), models.CheckConstraint(condition=models.Q(('document', None), ('end_char__gt', models.F('start_char')), _connector='OR'), name='question_of_document_has_span'), models.CheckConstraint(condition=models.Q(('text', ''), _negated=True), name='question_text_is_not_empty')],
            },
        ),
        migrations.RunSQL(SQL.read_text(), migrations.RunSQL.noop),
    ]
