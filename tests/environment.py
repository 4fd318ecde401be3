"""Unset the settings before Django reads them, so that tests hold whatever the caller has set."""

import os
import sys

from pkb.env import Env

# How many threads each of several processes may have is for the caller to say.
KEPT = {"PKB_MODEL_THREADS"}

settings = Env.model_fields.keys() - KEPT
for name in list(os.environ):
    if name.upper() in settings or (name.upper().startswith("PKB_") and name not in KEPT):
        del os.environ[name]
# An empty variable is an unset one, and goes before what .env says.
os.environ |= dict.fromkeys(settings, "")
# Coverage begins later, and must see these modules run.
for name in [each for each in sys.modules if each.partition(".")[0] in {"corpus", "pkb"}]:
    del sys.modules[name]
