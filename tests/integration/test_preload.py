"""Models are there before the first question, or it is said why not."""

from pathlib import Path
from typing import Any

from django.core.management import call_command

from pkb import settings as product
from pkb.preload import are_models_loaded, question_models
from qa.readers import get_reader
from tests.support.commands import refusal


def test_load_models_loads_all_that_a_question_needs(settings: Any) -> None:
    settings.PKB_EMBEDDERS = {**product.PKB_EMBEDDERS}  # forgets what other tests loaded
    settings.PKB_RERANKERS = {**product.PKB_RERANKERS}
    settings.PKB_READERS = {**product.PKB_READERS}
    assert not are_models_loaded()

    call_command("load_models")

    assert are_models_loaded()
    assert all(model.is_loaded for model in question_models())
    assert get_reader().is_loaded


def test_load_models_says_which_model_is_not_there(settings: Any, tmp_path: Path) -> None:
    spec = product.PKB_EMBEDDERS["all-MiniLM-L6-v2"]
    absent = {**spec, "OPTIONS": {**spec["OPTIONS"], "model": str(tmp_path / "absent")}}
    settings.PKB_EMBEDDERS = {**settings.PKB_EMBEDDERS, "absent": absent}
    settings.PKB_EMBEDDING_MODEL = "absent"
    assert "absent" in refusal("load_models")[0]
