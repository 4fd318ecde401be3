from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('corpus', '0005_samples'),
    ]

    operations = [
        migrations.AlterField(
            model_name='job',
            name='kind',
            field=models.CharField(choices=[('sync', 'Sync'), ('embed', 'Embed'), ('reembed', 'Reembed'), ('map', 'Map'), ('edit', 'Edit'), ('source', 'Source'), ('crawl', 'Crawl'), ('grid', 'Grid')], max_length=20),
        ),
        migrations.AlterField(
            model_name='job',
            name='stage',
            field=models.CharField(choices=[('waiting', 'Waiting'), ('listing', 'Listing'), ('ingesting', 'Ingesting'), ('fetching', 'Fetching'), ('embedding', 'Embedding'), ('mapping', 'Mapping'), ('editing', 'Editing'), ('answering', 'Answering'), ('removing', 'Removing'), ('ended', 'Ended')], default='waiting', max_length=20),
        ),
    ]
