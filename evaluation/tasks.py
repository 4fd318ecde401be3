"""Periodic tasks."""

from procrastinate.contrib.django import app

from corpus.models import Collection
from corpus.queue import QUEUE
from evaluation.judged_answers import learn


@app.periodic(cron="23 3 * * *")
@app.task(name="evaluation.learn", queue=QUEUE, queueing_lock="evaluation.learn")
def learn_confidence(timestamp: int) -> None:
    """Let each collection with feedback learn from its judged answers."""
    for collection in Collection.objects.filter(answers__feedback__isnull=False).distinct():
        learn(collection)
