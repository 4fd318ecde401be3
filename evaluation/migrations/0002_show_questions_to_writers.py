from django.db import migrations

from corpus.access.policies import WRITABLE, Policy, put, take

# They come of what others asked, too.
POLICIES = {"evaluation_question": Policy.both(f"collection_id = {WRITABLE}")}


class Migration(migrations.Migration):

    dependencies = [("corpus", "0028_show_rows_to_their_own"), ("evaluation", "0001_questions")]

    operations = [migrations.RunSQL(put(POLICIES), take(POLICIES))]
