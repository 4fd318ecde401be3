"""What tests over the database alone share."""

import pytest
from procrastinate.contrib.django.models import ProcrastinateJob


@pytest.fixture
def empty_queue(db: None) -> None:
    """Nothing waits that a test before put into the queue for good: its table is not flushed."""
    ProcrastinateJob.objects.all()._raw_delete("default")
