from django.db import migrations, models

# Jobs of this kind have one item each.
DELETE_JOBS = """
DELETE FROM corpus_jobitem WHERE job_id IN (SELECT id FROM corpus_job WHERE kind = 'map');
DELETE FROM corpus_job WHERE kind = 'map';
-- A row that is to be checked later would stop the changes below.
SET CONSTRAINTS ALL IMMEDIATE;
"""


class Migration(migrations.Migration):

    dependencies = [
        ('corpus', '0006_grid_jobs'),
    ]

    operations = [
        migrations.RunSQL(DELETE_JOBS, migrations.RunSQL.noop),
        migrations.AlterField(
            model_name='job',
            name='kind',
            field=models.CharField(choices=[('sync', 'Sync'), ('embed', 'Embed'), ('reembed', 'Reembed'), ('edit', 'Edit'), ('source', 'Source'), ('crawl', 'Crawl'), ('grid', 'Grid')], max_length=20),
        ),
        migrations.AlterField(
            model_name='job',
            name='stage',
            field=models.CharField(choices=[('waiting', 'Waiting'), ('listing', 'Listing'), ('ingesting', 'Ingesting'), ('fetching', 'Fetching'), ('embedding', 'Embedding'), ('editing', 'Editing'), ('answering', 'Answering'), ('removing', 'Removing'), ('ended', 'Ended')], default='waiting', max_length=20),
        ),
        migrations.DeleteModel(
            name='CollectionMap',
        ),
    ]
