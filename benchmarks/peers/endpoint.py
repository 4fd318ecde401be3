"""HTTP server of vectors and scores, for a stack without its own models.

``python endpoint.py MODEL CROSS_ENCODER``; the first line that it writes is its address. It answers
POST /v1/embeddings as OpenAI does, and /v1/rerank as vLLM does.
"""

import base64
import json
import sys
from functools import cached_property
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

from sentence_transformers import CrossEncoder, SentenceTransformer


class Models(HTTPServer):
    def __init__(self, model: str, reranker: str) -> None:
        super().__init__(("127.0.0.1", 0), Endpoint)
        self.encoder, self._reranker = SentenceTransformer(model, device="cpu"), reranker

    @cached_property
    def cross_encoder(self) -> CrossEncoder:
        return CrossEncoder(self._reranker, device="cpu")


class Endpoint(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Models

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        is_ranking = self.path.endswith("/rerank")
        reply = self._rerank(asked) if is_ranking else self._embed(asked)
        body = json.dumps({"model": asked["model"], **reply}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _embed(self, asked: dict[str, Any]) -> dict[str, Any]:
        texts = [asked["input"]] if isinstance(asked["input"], str) else asked["input"]
        vectors = self.server.encoder.encode(texts, normalize_embeddings=True)
        shown = [vector.tolist() for vector in vectors]
        if asked.get("encoding_format") == "base64":
            shown = [base64.b64encode(vector.tobytes()).decode() for vector in vectors]
        rows = [
            {"object": "embedding", "index": index, "embedding": vector}
            for index, vector in enumerate(shown)
        ]
        usage = {"prompt_tokens": 0, "total_tokens": 0}
        return {"object": "list", "data": rows, "usage": usage}

    def _rerank(self, asked: dict[str, Any]) -> dict[str, Any]:
        pairs = [(asked["query"], document) for document in asked["documents"]]
        scores = self.server.cross_encoder.predict(pairs)
        rows = [
            {"index": index, "relevance_score": float(score)} for index, score in enumerate(scores)
        ]
        return {"results": rows}

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


if __name__ == "__main__":
    models = Models(*sys.argv[1:])
    print(f"http://127.0.0.1:{models.server_port}/v1", flush=True)
    models.serve_forever()
