"""A time that cannot be read again made every list that held it fail: it comes to the nearest bound."""

import datetime as dt

from django.db import migrations, models

EARLIEST = dt.datetime(1, 1, 2, tzinfo=dt.UTC)
LATEST = dt.datetime(9999, 12, 30, 23, 59, 59, tzinfo=dt.UTC)

CLIP = """
UPDATE corpus_document SET {column} = least(greatest({column}, '{earliest}'), '{latest}')
 WHERE NOT ({column} BETWEEN '{earliest}' AND '{latest}')
"""


class Migration(migrations.Migration):
    dependencies = [("corpus", "0012_keep_token_vectors")]

    operations = [
        *(
            migrations.RunSQL(
                CLIP.format(column=column, earliest=EARLIEST, latest=LATEST),
                migrations.RunSQL.noop,
            )
            for column in ("user_created_at", "last_modified")
        ),
        migrations.AddConstraint(
            model_name="document",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("user_created_at__range", (EARLIEST, LATEST)),
                    ("last_modified__range", (EARLIEST, LATEST)),
                ),
                name="document_times_can_be_read",
            ),
        ),
    ]
