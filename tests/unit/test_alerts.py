"""The shipped alerts and dashboard: every metric is one of ours, and promtool takes them."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from opentelemetry import metrics
from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.metrics import Observation
from opentelemetry.sdk.metrics import MeterProvider
from prometheus_client import generate_latest

from corpus import telemetry
from corpus.queue import HEARTBEAT_TIMEOUT
from pkb.status import service_status

DEPLOY = Path(__file__).parents[2] / "deploy"
PROMETHEUS = DEPLOY / "prometheus"
[GROUP] = yaml.safe_load((PROMETHEUS / "alerts.yml").read_text())["groups"]
ALERTS = {rule["alert"]: rule["expr"] for rule in GROUP["rules"]}
DASHBOARD = json.loads((DEPLOY / "grafana" / "pkb.json").read_text())
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
DRAWN = [target["expr"] for panel in PANELS for target in panel["targets"]]
# What Prometheus itself knows of each scrape.
OF_SCRAPES = {"up"}


def asked_for(expressions: list[str]) -> set[str]:
    """The metrics of PromQL expressions; ours all have a selector."""
    found = {name for each in expressions for name in re.findall(r"(\w+)\{", each)}
    assert found
    return found


@cache
def told() -> frozenset[str]:
    """Every name that /metrics has once everything was counted."""
    provider = MeterProvider(metric_readers=[PrometheusMetricReader()])
    meter = provider.get_meter("pkb")
    for made in vars(telemetry).values():
        if isinstance(made, metrics.Counter):
            meter.create_counter(made._name, unit=made._unit).add(1)  # type: ignore[attr-defined]
        if isinstance(made, metrics.Histogram):
            meter.create_histogram(made._name, unit=made._unit).record(1)  # type: ignore[attr-defined]
    for gauge in telemetry.Gauge:
        name, unit, _ = gauge.value
        meter.create_observable_gauge(name, [lambda options: [Observation(1)]], unit=unit)
    text = generate_latest().decode()
    provider.shutdown()
    return frozenset(re.findall(r"(?m)^(\w+)[ {]", text))


@pytest.mark.parametrize("expressions", [list(ALERTS.values()), DRAWN], ids=["alerts", "dashboard"])
def test_every_metric_that_is_asked_for_is_told(expressions: list[str]) -> None:
    assert len(told()) > 40
    assert asked_for(expressions) - OF_SCRAPES <= told()


def test_every_gauge_is_drawn_or_divides_what_is_drawn() -> None:
    drawn = asked_for(DRAWN)
    for gauge in telemetry.Gauge:
        name = gauge.value[0].replace(".", "_")
        assert any(each.startswith(name) for each in drawn), name


def test_each_panel_has_its_number_and_place() -> None:
    numbers = [panel["id"] for panel in DASHBOARD["panels"]]
    assert sorted(numbers) == list(range(1, len(numbers) + 1))
    places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in DASHBOARD["panels"]]
    assert len(set(places)) == len(places)


def test_what_the_status_calls_a_problem_has_an_alert_of_its_name() -> None:
    named = {f"Pkb{problem.title().replace('_', '')}" for problem in service_status.Problem}
    assert named <= set(ALERTS)


def test_alerts_have_the_bounds_of_the_status() -> None:
    def bound(alert: str) -> float:
        return float(ALERTS[alert].rsplit(maxsplit=1)[1])

    assert bound("PkbQueueWaits") == service_status.MAX_WAIT.total_seconds()
    assert bound("PkbDiskFills") == service_status.MIN_FREE_SHARE
    assert bound("PkbHomeUnserved") == HEARTBEAT_TIMEOUT.total_seconds()
    assert f"> {service_status.BACKUP_INTERVALS} * backup_interval" in ALERTS["PkbBackupOld"]


def test_every_alert_is_raised_in_a_test_of_promtool() -> None:
    tests = (PROMETHEUS / "alerts_test.yml").read_text()
    assert [name for name in ALERTS if name not in tests] == []


def dashboard_as_rules() -> dict[str, Any]:
    variables = {"$job": "pkb", "$instance": ".*", "$__rate_interval": "5m"}

    def filled() -> Iterator[str]:
        for expression in DRAWN:
            for name, value in variables.items():
                expression = expression.replace(name, value)  # noqa: PLW2901
            yield expression

    rules = [{"record": f"drawn_{n}", "expr": each} for n, each in enumerate(filled())]
    return {"groups": [{"name": "dashboard", "rules": rules}]}


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")
def test_promtool_takes_the_alerts_and_what_the_dashboard_draws(tmp_path: Path) -> None:
    drawn = tmp_path / "dashboard.yml"
    drawn.write_text(yaml.safe_dump(dashboard_as_rules()))
    for verb, kind, *files in (
        ("check", "rules", PROMETHEUS / "alerts.yml", drawn),
        ("check", "config", PROMETHEUS / "prometheus.yml"),
        ("test", "rules", PROMETHEUS / "alerts_test.yml"),
    ):
        command = ["promtool", verb, kind, *map(str, files)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
