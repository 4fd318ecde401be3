from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('corpus', '0008_webhooks'),
    ]

    operations = [
        migrations.AlterField(
            model_name='job',
            name='kind',
            field=models.CharField(choices=[('sync', 'Sync'), ('embed', 'Embed'), ('reembed', 'Reembed'), ('edit', 'Edit'), ('source', 'Source'), ('crawl', 'Crawl'), ('grid', 'Grid'), ('benchmark', 'Benchmark')], max_length=20),
        ),
    ]
