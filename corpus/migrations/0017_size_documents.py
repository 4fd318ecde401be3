"""How large a document's file is, and how many pages it has, for lists that are sorted by them."""

from django.db import migrations, models

# What was taken in before has the size of its text until it is taken in again.
MEASURE = """
UPDATE corpus_document SET size_bytes = char_count, page_count = CASE
  WHEN media_type = 'application/pdf' AND jsonb_typeof(metadata->'page_count') = 'number'
  THEN least((metadata->>'page_count')::numeric, 20000)::integer ELSE 0 END
"""


class Migration(migrations.Migration):

    dependencies = [
        ('corpus', '0016_say_what_was_skipped'),
    ]

    operations = [
        migrations.AddField(
            model_name='document',
            name='page_count',
            field=models.PositiveIntegerField(db_default=0, default=0, help_text='0 where there are no pages'),
        ),
        migrations.AddField(
            model_name='document',
            name='size_bytes',
            field=models.PositiveBigIntegerField(db_default=0, default=0, help_text='of the file; of a text that was sent, in UTF-8'),
        ),
        migrations.AlterField(
            model_name='job',
            name='kind',
            field=models.CharField(choices=[('sync', 'Sync'), ('embed', 'Embed'), ('reembed', 'Reembed'), ('map', 'Map'), ('edit', 'Edit')], max_length=20),
        ),
        migrations.AlterField(
            model_name='job',
            name='stage',
            field=models.CharField(choices=[('waiting', 'Waiting'), ('listing', 'Listing'), ('ingesting', 'Ingesting'), ('embedding', 'Embedding'), ('mapping', 'Mapping'), ('editing', 'Editing'), ('removing', 'Removing'), ('ended', 'Ended')], default='waiting', max_length=20),
        ),
        migrations.RunSQL(MEASURE, migrations.RunSQL.noop),
    ]
