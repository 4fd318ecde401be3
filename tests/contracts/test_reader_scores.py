"""The reader's scores are the same on every processor."""

import json
from pathlib import Path

import pytest

from pkb import settings as configured
from qa.readers.cross_encoder_reader import CrossEncoderReader

OPTIONS = configured.PKB_READERS["minilm-l12-reader"]["OPTIONS"] | {"threads": 1}
# The scores and spans that the reader gave, and the processor that ran it.
KEPT = json.loads(Path(__file__).with_name("reader_scores.json").read_text(encoding="utf-8"))
# Logits. On an emulated processor without VNNI, 17 pairs differ by less than .01, three by .13 to
# .34; with weights of eight bits, 14 other pairs differed by .37 in the mean and 1.26 at most.
MAX_MEAN_DIFFERENCE, MAX_DIFFERENCE = 0.1, 0.5


@pytest.mark.bare_models
def test_scores_and_spans_are_those_of_another_processor() -> None:
    reader, differences = CrossEncoderReader(**OPTIONS), []
    for pair in KEPT["pairs"]:
        (reading,) = reader.read(pair["question"], [pair["text"]])
        differences.append(abs(reading.score - pair["score"]))
        assert pair["text"][reading.start : reading.end] == pair["span"], KEPT["processor"]
    assert len(differences) == 20
    assert sum(differences) / 20 <= MAX_MEAN_DIFFERENCE, KEPT["processor"]
    assert max(differences) <= MAX_DIFFERENCE, KEPT["processor"]
