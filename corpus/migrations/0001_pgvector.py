from django.db import migrations
from pgvector.django import VectorExtension


class Migration(migrations.Migration):
    """The only extension that the project needs."""

    initial = True
    dependencies = []
    operations = [VectorExtension()]
