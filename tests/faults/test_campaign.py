"""A round of each family of faults; ``scripts/faults`` plays them for hours."""

import pytest

from tests.campaign.families import FAMILIES
from tests.campaign.tally import run_family

SEED = 1


@pytest.mark.slow
@pytest.mark.campaign
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", FAMILIES)
def test_a_round_of_each_family_of_faults_loses_nothing(name: str) -> None:
    if reason := FAMILIES[name].why_not():
        pytest.skip(reason)
    tally = run_family(name, [SEED])
    assert (tally.failed, tally.lost) == ([], 0)
