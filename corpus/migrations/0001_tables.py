import datetime as dt
import uuid
from pathlib import Path

import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.contrib.postgres.search
import django.core.validators
import django.db.models.constraints
import django.db.models.deletion
import django.db.models.expressions
import django.db.models.fields.json
import django.db.models.functions.text
import django.utils.timezone
import pgvector.django.halfvec
from django.conf import settings
from django.db import migrations, models

import corpus.access.principal
import corpus.models.document
import corpus.telemetry

SQL = Path(__file__).with_suffix(".sql")


class Migration(migrations.Migration):

    initial = True

    replaces = [
        ("corpus", "0001_pgvector"),
        ("corpus", "0002_initial"),
        ("corpus", "0003_chunking_strategies"),
        ("corpus", "0004_jobs"),
        ("corpus", "0005_count_terms"),
        ("corpus", "0006_keep_previous_model"),
        ("corpus", "0007_show_stage_of_items"),
        ("corpus", "0008_add_collection_map"),
        ("corpus", "0009_say_what_items_are_about"),
        ("corpus", "0010_index_metadata"),
        ("corpus", "0011_index_lists"),
        ("corpus", "0012_keep_token_vectors"),
        ("corpus", "0013_keep_times_readable"),
        ("corpus", "0014_erase_with_documents"),
        ("corpus", "0015_keep_tombstones"),
        ("corpus", "0016_say_what_was_skipped"),
        ("corpus", "0017_size_documents"),
        ("corpus", "0018_sort_documents"),
        ("corpus", "0019_tell_versions_of_collections"),
        ("corpus", "0020_watch_folders"),
        ("corpus", "0021_keep_sent_files"),
        ("corpus", "0022_keep_rules"),
        ("corpus", "0023_mirror_sources"),
        ("corpus", "0024_keep_sites"),
        ("corpus", "0025_say_who_made_jobs"),
        ("corpus", "0026_own_collections"),
        ("corpus", "0027_own_tags"),
        ("corpus", "0028_show_rows_to_their_own"),
        ("corpus", "0029_say_which_request_made_jobs"),
        ("corpus", "0030_keep_document_counts"),
        ("corpus", "0031_know_the_installation"),
        ("corpus", "0032_keep_what_is_to_be_dropped"),
        ("corpus", "0033_know_workers_of_home"),
        ("corpus", "0034_keep_vectors_in_halves"),
        ("corpus", "0035_keep_words_in_the_row"),
        ("corpus", "0036_close_what_stays_open"),
    ]

    dependencies = [
        ('auth', '0012_alter_user_first_name_max_length'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        # It stays on the way back: to drop it one must be its owner.
        migrations.RunSQL("CREATE EXTENSION IF NOT EXISTS vector", migrations.RunSQL.noop),
        migrations.CreateModel(
            name='CollectionAccess',
            fields=[
                ('collection_id', models.BigIntegerField(primary_key=True, serialize=False)),
                ('owner_id', models.BigIntegerField(null=True)),
                ('is_public', models.BooleanField()),
            ],
        ),
        migrations.CreateModel(
            name='CollectionChange',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('collection_id', models.BigIntegerField(db_index=True)),
            ],
        ),
        migrations.CreateModel(
            name='DroppedFile',
            fields=[
                ('folder', models.CharField(max_length=32, primary_key=True, serialize=False)),
            ],
        ),
        migrations.CreateModel(
            name='Tombstone',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('content_sha256', models.CharField(db_index=True, max_length=64)),
                ('seal', models.BinaryField()),
                ('width', models.PositiveSmallIntegerField()),
                ('hashes', models.BinaryField()),
                ('erased_at', models.DateTimeField(db_index=True, default=django.utils.timezone.now, editable=False)),
            ],
            options={
                'ordering': ['-erased_at', '-id'],
            },
        ),
        migrations.CreateModel(
            name='Collection',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=100, validators=[django.core.validators.RegexValidator('^[a-zA-Z][a-zA-Z0-9_-]{0,99}\\Z')])),
                ('is_public', models.BooleanField(default=False, help_text='every user may read it')),
                ('description', models.TextField(blank=True, default='')),
                ('embedding_model', models.CharField(max_length=200)),
                ('dimension', models.PositiveIntegerField(help_text='length of a vector')),
                ('previous_model', models.CharField(blank=True, default='', help_text='its vectors are kept, to go back to', max_length=200)),
                ('previous_dimension', models.PositiveIntegerField(blank=True, null=True)),
                ('distance', models.CharField(choices=[('cosine', 'Cosine')], default='cosine', max_length=20)),
                ('chunk_strategy', models.CharField(choices=[('auto', 'Auto'), ('sentence', 'Sentence'), ('structure', 'Structure'), ('recursive', 'Recursive'), ('semantic', 'Semantic')], default='auto', max_length=20)),
                ('chunk_size', models.PositiveIntegerField(help_text='most units of a chunk')),
                ('chunk_overlap', models.PositiveIntegerField(default=0, help_text='most units that neighbouring pieces of one passage share')),
                ('chunk_overlap_sentences', models.PositiveIntegerField(default=1, help_text='sentences that they share where chunk_overlap is 0')),
                ('chunk_unit', models.CharField(choices=[('tokens', 'Tokens'), ('cl100k_tokens', 'Cl100K Tokens'), ('characters', 'Characters')], default='tokens', max_length=20)),
                ('language', models.CharField(choices=[('simple', 'simple'), ('arabic', 'arabic'), ('danish', 'danish'), ('dutch', 'dutch'), ('english', 'english'), ('finnish', 'finnish'), ('french', 'french'), ('german', 'german'), ('greek', 'greek'), ('hindi', 'hindi'), ('hungarian', 'hungarian'), ('indonesian', 'indonesian'), ('italian', 'italian'), ('lithuanian', 'lithuanian'), ('norwegian', 'norwegian'), ('portuguese', 'portuguese'), ('romanian', 'romanian'), ('russian', 'russian'), ('serbian', 'serbian'), ('spanish', 'spanish'), ('swedish', 'swedish'), ('tamil', 'tamil'), ('turkish', 'turkish')], default='english', help_text='by which words are stemmed for the lexical leg', max_length=20)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('updated_at', models.DateTimeField(auto_now=True)),
                ('owner', models.ForeignKey(blank=True, default=corpus.access.principal.current_user_id, help_text="without an owner, it belongs to the superusers", null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['created_at', 'id'],
            },
        ),
        migrations.CreateModel(
            name='CollectionMap',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('model', models.CharField(max_length=200)),
                ('points', models.JSONField(help_text='chunk_id, x and y of each; x and y in [0, 1]')),
                ('variance_share', models.FloatField(help_text="of the vectors' variance, kept by the two")),
                ('computed_at', models.DateTimeField()),
                ('collection', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='map', to='corpus.collection')),
            ],
        ),
        migrations.CreateModel(
            name='Document',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('source_uri', models.CharField(blank=True, default='', max_length=2048)),
                ('source', models.CharField(blank=True, default='', help_text='web, cli, ...', max_length=100)),
                ('title', models.CharField(blank=True, default='', max_length=512)),
                ('media_type', models.CharField(default='text/plain', max_length=150)),
                ('raw_text', models.TextField(blank=True, default='', help_text='normalized; what all offsets refer to')),
                ('outline', models.JSONField(default=dict, help_text='spans of headings and pages')),
                ('content_sha256', models.CharField(blank=True, default='', help_text='of raw_text in UTF-8, hex; empty while no version is stored', max_length=64)),
                ('metadata', models.JSONField(blank=True, default=dict)),
                ('chapter', models.CharField(blank=True, default='', max_length=512)),
                ('section', models.CharField(blank=True, default='', max_length=512)),
                ('word_count', models.PositiveIntegerField(default=0)),
                ('char_count', models.PositiveIntegerField(default=0)),
                ('chunk_count', models.PositiveIntegerField(default=0)),
                ('page_count', models.PositiveIntegerField(db_default=0, default=0, help_text='0 where there are no pages')),
                ('size_bytes', models.PositiveBigIntegerField(db_default=0, default=0, help_text='of the file; of a text that was sent, in UTF-8')),
                ('status', models.CharField(choices=[('pending', 'Pending'), ('processing', 'Processing'), ('completed', 'Completed'), ('failed', 'Failed')], default='pending', max_length=20)),
                ('error', models.TextField(blank=True, default='')),
                ('file_path', models.CharField(blank=True, default='', max_length=4096)),
                ('file_hash', models.CharField(blank=True, default='', max_length=64)),
                ('kept_file', models.CharField(blank=True, db_default='', default='', help_text='below the uploads', max_length=255)),
                ('settings_sha256', models.CharField(blank=True, default='', help_text='of the settings it was taken in by', max_length=64)),
                ('last_modified', models.DateTimeField(blank=True, null=True)),
                ('user_created_at', models.DateTimeField(blank=True, null=True)),
                ('ingested_at', models.DateTimeField(blank=True, null=True)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('updated_at', models.DateTimeField(auto_now=True)),
                ('collection', models.ForeignKey(on_delete=corpus.models.document.delete_documents, related_name='documents', to='corpus.collection')),
            ],
            options={
                'ordering': ['created_at', 'id'],
            },
        ),
        migrations.CreateModel(
            name='Chunk',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('ordinal', models.PositiveIntegerField(help_text='0 for the first chunk')),
                ('start_char', models.PositiveIntegerField()),
                ('end_char', models.PositiveIntegerField()),
                ('text', models.TextField()),
                ('context', models.TextField(blank=True, default='', help_text='title and headings; embedded and indexed with the text')),
                ('text_preview', models.GeneratedField(db_persist=True, expression=django.db.models.functions.text.Left('text', 160), output_field=models.CharField(max_length=160))),
                ('chunk_sha256', models.CharField(help_text='of text in UTF-8, hex', max_length=64)),
                ('token_count', models.PositiveIntegerField(help_text="by the embedder's own tokenizer")),
                ('heading_path', django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), blank=True, default=list, size=None)),
                ('heading_level', models.PositiveSmallIntegerField(blank=True, null=True)),
                ('page', models.PositiveIntegerField(blank=True, null=True)),
                ('metadata', models.JSONField(blank=True, default=dict)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('language', models.CharField(default='english', help_text="its collection's", max_length=20)),
                ('ngrams', models.TextField(blank=True, default='', help_text='of text in scripts without spaces, for the lexical leg')),
                ('lexemes', models.GeneratedField(db_persist=True, expression=django.contrib.postgres.search.CombinedSearchVector(django.contrib.postgres.search.SearchVector('context', 'text', config=models.Case(models.When(language='simple', then=django.contrib.postgres.search.SearchConfig('simple')), models.When(language='arabic', then=django.contrib.postgres.search.SearchConfig('arabic')), models.When(language='danish', then=django.contrib.postgres.search.SearchConfig('danish')), models.When(language='dutch', then=django.contrib.postgres.search.SearchConfig('dutch')), models.When(language='english', then=django.contrib.postgres.search.SearchConfig('english')), models.When(language='finnish', then=django.contrib.postgres.search.SearchConfig('finnish')), models.When(language='french', then=django.contrib.postgres.search.SearchConfig('french')), models.When(language='german', then=django.contrib.postgres.search.SearchConfig('german')), models.When(language='greek', then=django.contrib.postgres.search.SearchConfig('greek')), models.When(language='hindi', then=django.contrib.postgres.search.SearchConfig('hindi')), models.When(language='hungarian', then=django.contrib.postgres.search.SearchConfig('hungarian')), models.When(language='indonesian', then=django.contrib.postgres.search.SearchConfig('indonesian')), models.When(language='italian', then=django.contrib.postgres.search.SearchConfig('italian')), models.When(language='lithuanian', then=django.contrib.postgres.search.SearchConfig('lithuanian')), models.When(language='norwegian', then=django.contrib.postgres.search.SearchConfig('norwegian')), models.When(language='portuguese', then=django.contrib.postgres.search.SearchConfig('portuguese')), models.When(language='romanian', then=django.contrib.postgres.search.SearchConfig('romanian')), models.When(language='russian', then=django.contrib.postgres.search.SearchConfig('russian')), models.When(language='serbian', then=django.contrib.postgres.search.SearchConfig('serbian')), models.When(language='spanish', then=django.contrib.postgres.search.SearchConfig('spanish')), models.When(language='swedish', then=django.contrib.postgres.search.SearchConfig('swedish')), models.When(language='tamil', then=django.contrib.postgres.search.SearchConfig('tamil')), models.When(language='turkish', then=django.contrib.postgres.search.SearchConfig('turkish')), default=django.contrib.postgres.search.SearchConfig('english'))), '||', django.contrib.postgres.search.SearchVector('ngrams', config='simple'), django.contrib.postgres.search.SearchConfig(models.Case(models.When(language='simple', then=django.contrib.postgres.search.SearchConfig('simple')), models.When(language='arabic', then=django.contrib.postgres.search.SearchConfig('arabic')), models.When(language='danish', then=django.contrib.postgres.search.SearchConfig('danish')), models.When(language='dutch', then=django.contrib.postgres.search.SearchConfig('dutch')), models.When(language='english', then=django.contrib.postgres.search.SearchConfig('english')), models.When(language='finnish', then=django.contrib.postgres.search.SearchConfig('finnish')), models.When(language='french', then=django.contrib.postgres.search.SearchConfig('french')), models.When(language='german', then=django.contrib.postgres.search.SearchConfig('german')), models.When(language='greek', then=django.contrib.postgres.search.SearchConfig('greek')), models.When(language='hindi', then=django.contrib.postgres.search.SearchConfig('hindi')), models.When(language='hungarian', then=django.contrib.postgres.search.SearchConfig('hungarian')), models.When(language='indonesian', then=django.contrib.postgres.search.SearchConfig('indonesian')), models.When(language='italian', then=django.contrib.postgres.search.SearchConfig('italian')), models.When(language='lithuanian', then=django.contrib.postgres.search.SearchConfig('lithuanian')), models.When(language='norwegian', then=django.contrib.postgres.search.SearchConfig('norwegian')), models.When(language='portuguese', then=django.contrib.postgres.search.SearchConfig('portuguese')), models.When(language='romanian', then=django.contrib.postgres.search.SearchConfig('romanian')), models.When(language='russian', then=django.contrib.postgres.search.SearchConfig('russian')), models.When(language='serbian', then=django.contrib.postgres.search.SearchConfig('serbian')), models.When(language='spanish', then=django.contrib.postgres.search.SearchConfig('spanish')), models.When(language='swedish', then=django.contrib.postgres.search.SearchConfig('swedish')), models.When(language='tamil', then=django.contrib.postgres.search.SearchConfig('tamil')), models.When(language='turkish', then=django.contrib.postgres.search.SearchConfig('turkish')), default=django.contrib.postgres.search.SearchConfig('english')))), output_field=django.contrib.postgres.search.SearchVectorField())),
                ('collection', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='chunks', to='corpus.collection')),
                ('document', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='chunks', to='corpus.document')),
            ],
            options={
                'ordering': ['document_id', 'ordinal'],
            },
        ),
        migrations.CreateModel(
            name='DocumentCount',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('collection_id', models.BigIntegerField()),
                ('tag_id', models.BigIntegerField()),
                ('document_count', models.BigIntegerField()),
                ('chunk_count', models.BigIntegerField()),
            ],
            options={
                'indexes': [models.Index(models.F('collection_id'), models.F('tag_id'), name='document_count_lookup')],
            },
        ),
        migrations.CreateModel(
            name='Embedding',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('model', models.CharField(max_length=200)),
                ('dimension', models.PositiveIntegerField()),
                ('input_sha256', models.CharField(help_text='of the text as it was embedded, hex', max_length=64)),
                ('vector', pgvector.django.halfvec.HalfVectorField()),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('chunk', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='embeddings', to='corpus.chunk')),
                ('collection', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='embeddings', to='corpus.collection')),
            ],
        ),
        migrations.CreateModel(
            name='Grant',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('role', models.CharField(choices=[('reader', 'reader: search, ask and read'), ('writer', 'writer: also add, change and delete documents'), ('owner', 'owner: also change, share and delete the collection')], max_length=10)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('collection', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='grants', to='corpus.collection')),
                ('group', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='auth.group')),
                ('user', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['collection', 'id'],
            },
        ),
        migrations.CreateModel(
            name='IdempotentRequest',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('made_with', models.BigIntegerField(blank=True, default=corpus.access.principal.current_restricted_key_id, editable=False, null=True)),
                ('key', models.CharField(max_length=255)),
                ('request_sha256', models.CharField(max_length=64)),
                ('status', models.PositiveSmallIntegerField()),
                ('body', models.JSONField()),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('made_by', models.ForeignKey(blank=True, default=corpus.access.principal.current_user_id, editable=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='Installation',
            fields=[
                ('id', models.PositiveSmallIntegerField(default=1, editable=False, primary_key=True, serialize=False)),
                ('key_digest', models.CharField(blank=True, db_default='', default='', max_length=64)),
                ('home', models.CharField(blank=True, db_default='', default='', max_length=32)),
                ('home_workers', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), blank=True, db_default=[], default=list, size=None)),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('pk', 1)), name='installation_is_one')],
            },
        ),
        migrations.CreateModel(
            name='Job',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('kind', models.CharField(choices=[('sync', 'Sync'), ('embed', 'Embed'), ('reembed', 'Reembed'), ('map', 'Map'), ('edit', 'Edit'), ('source', 'Source'), ('crawl', 'Crawl')], max_length=20)),
                ('status', models.CharField(choices=[('queued', 'Queued'), ('running', 'Running'), ('succeeded', 'Succeeded'), ('failed', 'Failed'), ('cancelled', 'Cancelled')], default='queued', max_length=20)),
                ('stage', models.CharField(choices=[('waiting', 'Waiting'), ('listing', 'Listing'), ('ingesting', 'Ingesting'), ('fetching', 'Fetching'), ('embedding', 'Embedding'), ('mapping', 'Mapping'), ('editing', 'Editing'), ('removing', 'Removing'), ('ended', 'Ended')], default='waiting', max_length=20)),
                ('total', models.PositiveIntegerField(default=0, help_text='items known so far')),
                ('done', models.PositiveIntegerField(default=0)),
                ('failed', models.PositiveIntegerField(default=0)),
                ('errors', models.JSONField(blank=True, default=list, help_text='the first of them: reason, and path or document_id')),
                ('arguments', models.JSONField(blank=True, default=dict)),
                ('skipped', models.JSONField(blank=True, db_default={}, default=dict, help_text='files passed over, by kind')),
                ('bounds', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), blank=True, default=corpus.access.principal.current_key_collections, editable=False, help_text="ids of the collections that its maker's key was bound to; none: to none", null=True, size=None)),
                ('request_id', models.CharField(blank=True, db_default='', default=corpus.telemetry.current_request_id, editable=False, help_text='X-Request-ID of the request that asked for it last; empty: none did', max_length=64)),
                ('is_background', models.BooleanField(default=True, help_text='workers run it; else a command does, and it ends with that')),
                ('is_listed', models.BooleanField(default=False, help_text='all its items are known')),
                ('start_count', models.PositiveIntegerField(default=0, help_text='since it was queued')),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('started_at', models.DateTimeField(blank=True, null=True)),
                ('finished_at', models.DateTimeField(blank=True, null=True)),
                ('collection', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='jobs', to='corpus.collection')),
                ('made_by', models.ForeignKey(blank=True, default=corpus.access.principal.current_creator_id, editable=False, help_text="none: a command's or an admin's, or no login was asked for", null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['-created_at', '-id'],
            },
        ),
        migrations.CreateModel(
            name='JobItem',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.CharField(help_text='what it is about, once in a job', max_length=4096)),
                ('path', models.CharField(blank=True, default='', help_text='of a file or page', max_length=4096)),
                ('status', models.CharField(choices=[('pending', 'Pending'), ('done', 'Done'), ('failed', 'Failed'), ('quarantined', 'Quarantined')], default='pending', max_length=20)),
                ('stage', models.CharField(choices=[('queued', 'Queued'), ('parsing', 'Parsing'), ('embedding', 'Embedding')], default='queued', help_text='while pending', max_length=20)),
                ('outcome', models.CharField(blank=True, default='', max_length=20)),
                ('attempts', models.PositiveSmallIntegerField(default=0, help_text='times it was begun')),
                ('reason', models.TextField(blank=True, default='', help_text='why it failed')),
                ('document_id', models.UUIDField(blank=True, null=True)),
                ('chunk_count', models.PositiveIntegerField(default=0)),
                ('encoded_count', models.PositiveIntegerField(default=0, help_text='texts the model was given')),
                ('runner', models.PositiveIntegerField(blank=True, help_text='who claimed it last', null=True)),
                ('ended_at', models.DateTimeField(blank=True, null=True)),
                ('job', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='items', to='corpus.job')),
            ],
            options={
                'ordering': ['id'],
            },
        ),
        migrations.CreateModel(
            name='Rule',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=100)),
                ('path', models.CharField(blank=True, default='', help_text='such as invoices/*', max_length=500)),
                ('title', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=200), blank=True, default=list, size=None)),
                ('words', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=200), blank=True, default=list, size=None)),
                ('sender', models.CharField(blank=True, default='', help_text='such as *@example.org', max_length=500)),
                ('tags', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=64), blank=True, default=list, size=None)),
                ('collection', models.CharField(blank=True, default='', help_text='of what would go into default', max_length=100)),
                ('is_set', models.BooleanField(default=False, editable=False, help_text='by PKB_RULES')),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('updated_at', models.DateTimeField(auto_now=True)),
            ],
            options={
                'ordering': ['name', 'is_set'],
                'constraints': [models.UniqueConstraint(models.F('name'), models.F('is_set'), name='rule_name_unique'), models.CheckConstraint(condition=models.Q(('path', ''), ('sender', ''), ('title', []), ('words', []), _negated=True), name='rule_has_a_condition'), models.CheckConstraint(condition=models.Q(('collection', ''), ('tags', []), _negated=True), name='rule_has_an_act')],
            },
        ),
        migrations.CreateModel(
            name='Site',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('address', models.CharField(max_length=2048)),
                ('is_whole', models.BooleanField(default=True)),
                ('depth', models.PositiveSmallIntegerField()),
                ('max_pages', models.PositiveIntegerField()),
                ('every_hours', models.PositiveIntegerField(blank=True, null=True)),
                ('due_at', models.DateTimeField(blank=True, null=True)),
                ('tags', models.JSONField(blank=True, default=list)),
                ('host', models.CharField(max_length=300)),
                ('rests_until', models.DateTimeField(blank=True, null=True)),
                ('delay_s', models.FloatField(default=0)),
                ('robots', models.TextField(blank=True, default='')),
                ('opened_by', models.UUIDField(blank=True, null=True)),
                ('request_count', models.PositiveIntegerField(default=0)),
                ('received_bytes', models.PositiveBigIntegerField(default=0)),
                ('failure_count', models.PositiveIntegerField(default=0)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('collection', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='sites', to='corpus.collection')),
                ('job', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='corpus.job')),
            ],
            options={
                'ordering': ['created_at', 'id'],
            },
        ),
        migrations.CreateModel(
            name='SitePage',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('digest', models.CharField(max_length=64)),
                ('address', models.CharField(max_length=2048)),
                ('depth', models.PositiveSmallIntegerField()),
                ('links', models.JSONField(blank=True, default=list)),
                ('moved_to', models.CharField(blank=True, default='', max_length=2048)),
                ('listed_by', models.UUIDField(blank=True, null=True)),
                ('read_by', models.UUIDField(blank=True, null=True)),
                ('document', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='site_pages', to='corpus.document')),
                ('site', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='pages', to='corpus.site')),
            ],
            options={
                'ordering': ['id'],
            },
        ),
        migrations.CreateModel(
            name='Tag',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=64)),
                ('collection', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='own_tags', to='corpus.collection')),
            ],
            options={
                'ordering': ['name'],
            },
        ),
        migrations.AddField(
            model_name='document',
            name='tags',
            field=models.ManyToManyField(blank=True, related_name='documents', to='corpus.tag'),
        ),
        migrations.CreateModel(
            name='ChunkTag',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('chunk', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='chunk_tags', to='corpus.chunk')),
                ('tag', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='chunk_tags', to='corpus.tag')),
            ],
        ),
        migrations.AddField(
            model_name='chunk',
            name='tags',
            field=models.ManyToManyField(related_name='chunks', through='corpus.ChunkTag', to='corpus.tag'),
        ),
        migrations.CreateModel(
            name='TermCount',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('collection_id', models.BigIntegerField()),
                ('lexeme', models.TextField()),
                ('chunk_count', models.BigIntegerField()),
                ('token_count', models.BigIntegerField()),
            ],
            options={
                'indexes': [models.Index(models.F('collection_id'), models.F('lexeme'), name='term_count_lookup')],
            },
        ),
        migrations.CreateModel(
            name='TokenVectors',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('model', models.CharField(max_length=200)),
                ('input_sha256', models.CharField(help_text='of the text as it was encoded, hex', max_length=64)),
                ('token_count', models.PositiveIntegerField(help_text='special tokens counted')),
                ('packed', models.BinaryField()),
                ('chunk', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='token_vectors', to='corpus.chunk')),
            ],
        ),
        migrations.CreateModel(
            name='WatchedFolder',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('path', models.CharField(max_length=4096)),
                ('root', models.CharField(blank=True, default='', max_length=4096)),
                ('is_set', models.BooleanField(default=False)),
                ('state', models.CharField(choices=[('new', 'New'), ('watched', 'Watched'), ('polled', 'Polled'), ('missing', 'Missing')], default='new', max_length=20)),
                ('mounts', models.JSONField(blank=True, default=list)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('collection', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='watched', to='corpus.collection')),
                ('job', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='corpus.job')),
            ],
            options={
                'ordering': ['id'],
            },
        ),
        migrations.AddConstraint(
            model_name='collection',
            constraint=models.UniqueConstraint(models.F('owner'), models.F('name'), name='collection_name_once_an_owner', nulls_distinct=False),
        ),
        migrations.AddConstraint(
            model_name='collection',
            constraint=models.CheckConstraint(condition=models.Q(('name__regex', '^[a-zA-Z][a-zA-Z0-9_-]{0,99}$')), name='collection_name_is_well_formed'),
        ),
        migrations.AddConstraint(
            model_name='collection',
            constraint=models.CheckConstraint(condition=models.Q(('dimension__gt', 0), ('chunk_size__gt', 0)), name='collection_sizes_are_positive'),
        ),
        migrations.AddConstraint(
            model_name='collection',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('previous_dimension', None), ('previous_model', '')), models.Q(models.Q(('previous_model', ''), _negated=True), ('previous_dimension__gt', 0)), _connector='OR'), name='collection_previous_model_has_its_dimension'),
        ),
        migrations.AddConstraint(
            model_name='collection',
            constraint=models.CheckConstraint(condition=models.Q(('chunk_size__gte', django.db.models.expressions.CombinedExpression(models.F('chunk_overlap'), '*', models.Value(2)))), name='collection_overlap_is_at_most_half'),
        ),
        migrations.AddIndex(
            model_name='embedding',
            index=models.Index(models.F('model'), models.F('input_sha256'), name='embedding_input'),
        ),
        migrations.AddConstraint(
            model_name='embedding',
            constraint=models.UniqueConstraint(models.F('chunk'), models.F('model'), name='embedding_once_per_model'),
        ),
        migrations.AddConstraint(
            model_name='embedding',
            constraint=models.CheckConstraint(condition=models.Q(('dimension', models.Func(models.F('vector'), function='vector_dims', output_field=models.IntegerField()))), name='embedding_dimension_is_true'),
        ),
        migrations.AddConstraint(
            model_name='grant',
            constraint=models.UniqueConstraint(models.F('collection'), models.F('user'), name='grant_once_to_a_user'),
        ),
        migrations.AddConstraint(
            model_name='grant',
            constraint=models.UniqueConstraint(models.F('collection'), models.F('group'), name='grant_once_to_a_group'),
        ),
        migrations.AddConstraint(
            model_name='grant',
            constraint=models.CheckConstraint(condition=models.Q(('user', None), ('group', None), _connector='XOR'), name='grant_is_to_a_user_or_a_group'),
        ),
        migrations.AddConstraint(
            model_name='grant',
            constraint=models.CheckConstraint(condition=models.Q(('role__in', ['reader', 'writer', 'owner'])), name='grant_role_is_known'),
        ),
        migrations.AddIndex(
            model_name='idempotentrequest',
            index=models.Index(django.db.models.fields.json.KeyTextTransform('document_id', 'body'), name='idempotent_document'),
        ),
        migrations.AddConstraint(
            model_name='idempotentrequest',
            constraint=models.UniqueConstraint(models.F('made_by'), models.F('made_with'), models.F('key'), name='idempotent_key_once_a_user', nulls_distinct=False),
        ),
        migrations.AddIndex(
            model_name='job',
            index=models.Index(models.F('status'), name='job_status'),
        ),
        migrations.AddConstraint(
            model_name='job',
            constraint=models.CheckConstraint(condition=models.Q(('total__gte', django.db.models.expressions.CombinedExpression(models.F('done'), '+', models.F('failed')))), name='job_counts_add_up'),
        ),
        migrations.AddConstraint(
            model_name='job',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('finished_at', None), ('status__in', ['queued', 'running'])), models.Q(('finished_at__isnull', False), ('status__in', ['succeeded', 'failed', 'cancelled'])), _connector='OR'), name='job_finished_has_its_time'),
        ),
        migrations.AddIndex(
            model_name='jobitem',
            index=models.Index(models.F('job'), models.F('status'), models.F('id'), name='job_item_claim'),
        ),
        migrations.AddIndex(
            model_name='jobitem',
            index=models.Index(models.F('document_id'), name='job_item_document'),
        ),
        migrations.AddConstraint(
            model_name='jobitem',
            constraint=models.UniqueConstraint(models.F('job'), django.db.models.functions.text.MD5('key'), name='job_item_key_unique_in_job'),
        ),
        migrations.AddConstraint(
            model_name='jobitem',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('ended_at', None), ('status', 'pending')), models.Q(models.Q(('status', 'pending'), _negated=True), ('ended_at__isnull', False)), _connector='OR'), name='job_item_ended_has_its_time'),
        ),
        migrations.AddConstraint(
            model_name='jobitem',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('status__in', ['failed', 'quarantined']), _negated=True), models.Q(('reason', ''), _negated=True), _connector='OR'), name='job_item_failed_has_a_reason'),
        ),
        migrations.AddIndex(
            model_name='site',
            index=models.Index(models.F('host'), name='site_host'),
        ),
        migrations.AddIndex(
            model_name='site',
            index=models.Index(models.F('due_at'), condition=models.Q(('due_at__isnull', False)), name='site_due'),
        ),
        migrations.AddConstraint(
            model_name='site',
            constraint=models.UniqueConstraint(models.F('collection'), django.db.models.functions.text.MD5('address'), name='site_once'),
        ),
        migrations.AddConstraint(
            model_name='sitepage',
            constraint=models.UniqueConstraint(models.F('site'), models.F('digest'), name='site_page_once'),
        ),
        migrations.AddIndex(
            model_name='tag',
            index=models.Index(models.F('name'), name='tag_by_name'),
        ),
        migrations.AddConstraint(
            model_name='tag',
            constraint=models.UniqueConstraint(models.F('collection'), models.F('name'), name='tag_name_once_in_a_collection', violation_error_message='A tag of this name already exists there.'),
        ),
        migrations.AddConstraint(
            model_name='tag',
            constraint=models.CheckConstraint(condition=models.Q(('name', ''), _negated=True), name='tag_name_is_not_empty'),
        ),
        migrations.AddIndex(
            model_name='document',
            index=models.Index(models.F('collection'), models.F('created_at'), models.F('id'), name='document_listing'),
        ),
        migrations.AddIndex(
            model_name='document',
            index=models.Index(models.F('created_at'), models.F('id'), name='document_listing_of_all'),
        ),
        migrations.AddIndex(
            model_name='document',
            index=models.Index(models.F('ingested_at'), condition=models.Q(('content_sha256', ''), _negated=True), name='document_newest'),
        ),
        migrations.AddIndex(
            model_name='document',
            index=models.Index(django.db.models.functions.text.Lower('title'), models.F('id'), name='document_by_title'),
        ),
        migrations.AddIndex(
            model_name='document',
            index=models.Index(models.F('media_type'), models.F('id'), name='document_by_type'),
        ),
        migrations.AddIndex(
            model_name='document',
            index=models.Index(models.F('size_bytes'), models.F('id'), name='document_by_size'),
        ),
        migrations.AddIndex(
            model_name='document',
            index=models.Index(models.F('page_count'), models.F('id'), name='document_by_pages'),
        ),
        migrations.AddIndex(
            model_name='document',
            index=models.Index(models.F('status'), models.F('id'), name='document_by_state'),
        ),
        migrations.AddIndex(
            model_name='document',
            index=models.Index(models.F('collection'), models.F('file_hash'), name='document_file_hash'),
        ),
        migrations.AddIndex(
            model_name='document',
            index=django.contrib.postgres.indexes.GinIndex(fields=['metadata'], name='document_metadata', opclasses=['jsonb_path_ops']),
        ),
        migrations.AddConstraint(
            model_name='document',
            constraint=models.UniqueConstraint(models.F('collection'), models.F('content_sha256'), condition=models.Q(('content_sha256', ''), _negated=True), name='document_content_unique_in_collection'),
        ),
        migrations.AddConstraint(
            model_name='document',
            constraint=models.UniqueConstraint(models.F('collection'), models.F('source_uri'), condition=models.Q(('source_uri', ''), _negated=True), name='document_source_uri_unique_in_collection'),
        ),
        migrations.AddConstraint(
            model_name='document',
            constraint=models.CheckConstraint(condition=models.Q(('content_sha256__regex', '^([0-9a-f]{64})?$')), name='document_content_sha256_is_hex'),
        ),
        migrations.AddConstraint(
            model_name='document',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('status', 'completed'), _negated=True), models.Q(('content_sha256', ''), _negated=True), _connector='OR'), name='document_completed_has_content'),
        ),
        migrations.AddConstraint(
            model_name='document',
            constraint=models.CheckConstraint(condition=models.Q(('user_created_at__range', (dt.datetime(1, 1, 2, 0, 0, tzinfo=dt.UTC), dt.datetime(9999, 12, 30, 23, 59, 59, tzinfo=dt.UTC))), ('last_modified__range', (dt.datetime(1, 1, 2, 0, 0, tzinfo=dt.UTC), dt.datetime(9999, 12, 30, 23, 59, 59, tzinfo=dt.UTC)))), name='document_times_can_be_read'),
        ),
        migrations.AddConstraint(
            model_name='chunktag',
            constraint=models.UniqueConstraint(models.F('chunk'), models.F('tag'), name='chunk_tag_unique'),
        ),
        migrations.AddIndex(
            model_name='chunk',
            index=django.contrib.postgres.indexes.GinIndex(fields=['lexemes'], name='chunk_lexemes'),
        ),
        migrations.AddIndex(
            model_name='chunk',
            index=django.contrib.postgres.indexes.BrinIndex(fields=['created_at'], name='chunk_created'),
        ),
        migrations.AddConstraint(
            model_name='chunk',
            constraint=models.UniqueConstraint(deferrable=django.db.models.constraints.Deferrable['DEFERRED'], fields=('document', 'ordinal'), name='chunk_ordinal_unique_in_document'),
        ),
        migrations.AddConstraint(
            model_name='chunk',
            constraint=models.CheckConstraint(condition=models.Q(('end_char__gt', models.F('start_char'))), name='chunk_span_is_not_empty'),
        ),
        migrations.AddIndex(
            model_name='tokenvectors',
            index=django.contrib.postgres.indexes.HashIndex(fields=['input_sha256'], name='token_vectors_input'),
        ),
        migrations.AddConstraint(
            model_name='tokenvectors',
            constraint=models.UniqueConstraint(models.F('chunk'), models.F('model'), name='token_vectors_once_per_model'),
        ),
        migrations.AddConstraint(
            model_name='tokenvectors',
            constraint=models.CheckConstraint(condition=models.Q(('token_count__gt', 0)), name='token_vectors_are_of_tokens'),
        ),
        migrations.AddConstraint(
            model_name='watchedfolder',
            constraint=models.UniqueConstraint(models.F('collection'), django.db.models.functions.text.MD5('path'), name='watched_folder_once'),
        ),
        migrations.RunSQL(SQL.read_text(), migrations.RunSQL.noop),
    ]
