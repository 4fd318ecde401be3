"""The Helm chart, without Helm: what it tells the containers is what pkb knows."""

import json
import re
from pathlib import Path

import pytest
import yaml
from jsonschema_rs import Draft7Validator

from corpus.endpoints import Cost
from pkb.env import Env
from pkb.http.endpoint_lookup import find_endpoint

ROOT = Path(__file__).parents[2]
CHART = ROOT / "deploy" / "helm" / "pkb"
TEMPLATES = {path.name: path.read_text() for path in (CHART / "templates").iterdir()}
VALUES = yaml.safe_load((CHART / "values.yaml").read_text())
SCHEMA = Draft7Validator(json.loads((CHART / "values.schema.json").read_text()))
DOCKERFILE = (ROOT / "Dockerfile").read_text()


def test_each_variable_that_the_chart_names_is_a_setting() -> None:
    texts = [path.read_text() for path in CHART.rglob("*.yaml")]
    named = set(re.findall(r"\b[A-Z]+(?:_[A-Z]+)+\b", "".join([*texts, *TEMPLATES.values()])))
    assert len(named) > 15
    # Kubernetes sets the one that is none, unless the pods forbid it.
    assert named - Env.model_fields.keys() == {"MALLOC_ARENA_MAX", "PKB_WEB_PORT"}
    assert "enableServiceLinks: false" in TEMPLATES["_pod.tpl"]


def test_probes_ask_open_endpoints_at_an_allowed_host_and_port() -> None:
    probes = re.findall(
        r"httpGet:.*path: (\S+), port: (\w+),.*name: Host, value: (\w+)", TEMPLATES["web.yaml"]
    )
    assert [(path, port) for path, port, _ in probes] == [("/health", "http"), ("/ready", "http")]
    allowed = re.findall(r'"ALLOWED_HOSTS" \(printf "([^"]+)"', TEMPLATES["settings.yaml"])[0]
    for path, _, host in probes:
        assert (find_endpoint("GET", path).cost, find_endpoint("GET", path).is_open) == (
            Cost.HEALTH, True,
        )  # fmt: skip
        assert host in allowed.split(",")
    [port] = re.findall(r'"APP_PORT" "(\d+)"', TEMPLATES["settings.yaml"])
    assert f"{{name: http, containerPort: {port}}}" in TEMPLATES["web.yaml"]


def test_user_folders_and_commands_are_those_of_the_image() -> None:
    assert f"useradd --system --uid {VALUES['user']} " in DOCKERFILE
    [(data, models)] = re.findall(r"PKB_DATA_DIR=(\S+) PKB_MODEL_DIR=(\S+)", DOCKERFILE)
    assert f'"PKB_DATA_DIR" "{data}"' in TEMPLATES["settings.yaml"]
    assert f'"PKB_MODEL_DIR" (ternary "/models" "{models}"' in TEMPLATES["settings.yaml"]
    assert f"{{name: data, mountPath: {data}}}" in TEMPLATES["_pod.tpl"]
    [started] = re.findall(r'CMD \["sh", "-c", "(.*)"\]', DOCKERFILE)
    [prepared] = re.findall(r"command: \[sh, -c, (.*)\]", TEMPLATES["web.yaml"])
    assert started == f"{prepared} && exec python manage.py serve"


def test_the_cluster_makes_the_roles_that_the_scripts_make() -> None:
    scripts = [path.read_text() for path in sorted((ROOT / "pkb/postgres/sql").iterdir())]
    lines = [line for line in "\n".join(scripts).splitlines() if not line.startswith(("--", "\\"))]
    wanted = " ".join(" ".join(lines).replace("PASSWORD :'password'", "").split())
    made = re.findall(r"(?m)^ +- ((?:REVOKE|CREATE|GRANT|ALTER) .*)$", TEMPLATES["database.yaml"])
    plain = [each.replace("{{ .database | quote }}", "pkb") for each in made]
    # The operator makes the owner and the database.
    assert plain == re.split(" ?; ?", wanted)[2:-1]


@pytest.mark.parametrize("path", ["values.yaml", "ci/all.yaml", "ci/one-node.yaml"])
def test_the_schema_accepts_the_values_of_the_chart(path: str) -> None:
    SCHEMA.validate(yaml.safe_load((CHART / path).read_text()))


def test_the_schema_lets_each_setting_in_but_no_secret() -> None:
    kept_out = {name for name in Env.model_fields if not SCHEMA.is_valid({"settings": {name: "x"}})}
    secret = {
        name for name, field in Env.model_fields.items() if "SecretStr" in str(field.annotation)
    }
    decided = {name for name in Env.model_fields if name.startswith("POSTGRES_")}
    assert kept_out == secret | decided | {"APP_HOST", "APP_PORT", "PKB_DATA_DIR"}
