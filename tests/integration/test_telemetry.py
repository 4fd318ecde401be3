"""The spans and metrics of one ingest and one answer, read from exporters in memory."""

from typing import Any

from tests.support.client import Api
from tests.support.documents import LIGHTHOUSE, LIGHTHOUSE_QUESTION
from tests.support.doubles import points, recorded_metrics

INGEST_SPANS = {
    "ingest",
    "normalize",
    "hash",
    "chunking",
    "embedding",
    "db.write.document",
    "db.write.chunks",
    "db.write.embeddings",
    "db.write.tags",
}
ANSWER_SPANS = {
    "answer",
    "parse",
    "retrieve.vector",
    "retrieve.lexical",
    "retrieve.fuse",
    "rerank",
    "answer.dspy",
    "cite",
    "db.read.vector",
    "db.read.lexical",
}


def test_an_ingest_and_an_answer_leave_their_spans(api: Api, spans: Any) -> None:
    api.post("/ingest", {"text": LIGHTHOUSE})
    ingested = {span.name: span for span in spans.get_finished_spans()}
    assert set(ingested) >= INGEST_SPANS
    assert ingested["embedding"].attributes["batch"] >= 1
    assert ingested["normalize"].parent.span_id == ingested["ingest"].context.span_id
    spans.clear()
    api.get("/answer", {"q": LIGHTHOUSE_QUESTION})
    answered = {span.name: span for span in spans.get_finished_spans()}
    assert set(answered) >= ANSWER_SPANS
    assert answered["rerank"].context.trace_id == answered["answer"].context.trace_id


def test_no_text_is_in_a_span(api: Api, spans: Any) -> None:
    api.post("/ingest", {"text": LIGHTHOUSE, "title": "Bavoke"})
    api.get("/answer", {"q": LIGHTHOUSE_QUESTION})
    for span in spans.get_finished_spans():
        assert "Bavoke" not in f"{span.name} {dict(span.attributes)} {list(span.events)}"


def test_requests_are_counted_and_timed_by_route_and_model(api: Api) -> None:
    recorded_metrics()
    api.post("/ingest", {"text": LIGHTHOUSE})
    api.get("/answer", {"q": LIGHTHOUSE_QUESTION, "eval": "true", "gold": ["x"]})
    seen = points()
    for name in ("ingest.requests", "answer.requests", "ingest.latency_ms", "answer.latency_ms"):
        labels = seen[name][0].attributes
        assert set(labels) == {"env", "model", "route"}
    for name in ("hit_rate_at_k", "mean_score_top1", "mean_score_topk"):
        assert seen[f"retrieval.{name}"][0].count >= 1
