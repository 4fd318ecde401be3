from django.db import migrations, models

BY_TITLE_AND_FILE_WORDS = """
DROP TRIGGER corpus_forget_token_vectors ON corpus_document;
CREATE TRIGGER corpus_forget_token_vectors AFTER UPDATE OF title, file_words ON corpus_document
    FOR EACH ROW WHEN (old.title <> new.title OR old.file_words <> new.file_words)
    EXECUTE FUNCTION corpus_forget_token_vectors();
"""
BY_TITLE = """
DROP TRIGGER corpus_forget_token_vectors ON corpus_document;
CREATE TRIGGER corpus_forget_token_vectors AFTER UPDATE OF title ON corpus_document
    FOR EACH ROW WHEN (old.title <> new.title)
    EXECUTE FUNCTION corpus_forget_token_vectors();
"""


class Migration(migrations.Migration):

    dependencies = [("corpus", "0002_document_content")]

    operations = [
        migrations.AddField(
            model_name="document",
            name="file_words",
            field=models.CharField(blank=True, db_default="", default="", editable=False, help_text="words of its file's name that its title lacks", max_length=200),
        ),
        migrations.AlterField(
            model_name="chunk",
            name="context",
            field=models.TextField(blank=True, default="", help_text="file words, title and headings; embedded and indexed with the text"),
        ),
        migrations.RunSQL(BY_TITLE_AND_FILE_WORDS, BY_TITLE),
    ]
