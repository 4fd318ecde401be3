"""What a part promises is asked of the part itself."""

from collections.abc import Iterator

import pytest
from django.test import override_settings

from tests.recordings.models import BARE


@pytest.fixture(autouse=True)
def models() -> Iterator[None]:
    with override_settings(**BARE):
        yield
