"""Requests drawn from the OpenAPI document, right and wrong ones, and sequences of them."""

import asyncio
import re
import sys
import tempfile
from pathlib import Path

from tests.attacks.target import Outcome, Target

CASES = 30
RULES = Path(__file__).with_name("schemathesis.toml")


async def draw_requests(target: Target) -> Outcome:
    """Send what schemathesis draws, with all other checks on."""
    command = Path(sys.executable).with_name("schemathesis")
    process = await asyncio.create_subprocess_exec(
        str(command), "--config-file", str(RULES), "run", f"{target.base_url}/schema?format=json",
        "--max-examples", str(CASES), "--seed", "1", "--no-color", cwd=tempfile.gettempdir(),
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    told = (await process.communicate())[0].decode()
    outcome = Outcome(seen=f"{CASES} cases an operation")
    generated = re.search(r"(\d[\d,]*) generated", told)
    outcome.tried = int(generated[1].replace(",", "")) if generated else 0
    outcome.failures = re.findall(r"^- (.+)$", told, re.MULTILINE)
    if process.returncode and not outcome.failures:
        outcome.failures = told.splitlines()[-3:]
    return outcome
