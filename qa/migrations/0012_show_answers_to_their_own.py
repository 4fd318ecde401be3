from django.db import migrations

from corpus.access.policies import MINE, READABLE, WITH_THIS_KEY, Policy, put, take

POLICIES = {
    # A grant that is taken back closes the answers that were given by it.
    "qa_answer": Policy.both(f"{MINE} AND collection_id = {READABLE}"),
    "qa_citation": Policy.through("qa_answer", key="answer_id"),
    "qa_feedback": Policy.through("qa_answer", key="answer_id"),
    "qa_session": Policy.both(f"{MINE} AND {WITH_THIS_KEY}"),
    "qa_message": Policy.through("qa_session", key="session_id"),
    "qa_chatstream": Policy.through("qa_session", key="session_id"),
    "qa_chatevent": Policy.through("qa_chatstream", key="stream_id"),
}


class Migration(migrations.Migration):

    dependencies = [("corpus", "0028_show_rows_to_their_own"), ("qa", "0011_say_whose_answers")]

    operations = [migrations.RunSQL(put(POLICIES), take(POLICIES))]
