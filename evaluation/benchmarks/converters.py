"""Convert published files into the form of data sets (``evaluation.datasets``)."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

Row = dict[str, Any]
Convert = Callable[[Sequence[bytes]], dict[str, list[Row]]]
"""From the published files, in the order of ``Benchmark.files``, to rows by file name."""


def convert_anthropic_docs(contents: Sequence[bytes]) -> dict[str, list[Row]]:
    """Convert chunks ``{chunk_link, chunk_heading, text}`` and questions with right links."""
    chunks, questions = map(json.loads, contents)
    corpus = [
        {"id": row["chunk_link"], "title": row["chunk_heading"], "text": row["text"]}
        for row in chunks
    ]
    known = {row["id"] for row in corpus}
    judged = ((row["id"], row["question"], row["correct_chunks"]) for row in questions)
    return {"corpus": corpus, **_judgements(judged, known)}


def convert_anthropic_code(contents: Sequence[bytes]) -> dict[str, list[Row]]:
    """Convert files with chunks, and questions ``{query, golden_chunk_uuids}``."""
    files, questions = json.loads(contents[0]), _lines(contents[1])
    chunks = {
        (file["original_uuid"], chunk["original_index"]): chunk
        for file in files
        for chunk in file["chunks"]
    }
    corpus = [{"id": row["chunk_id"], "text": row["content"]} for row in chunks.values()]
    judged = (
        (f"q{number}", row["query"],
         [chunks[tuple(key)]["chunk_id"] for key in row["golden_chunk_uuids"]])
        for number, row in enumerate(questions)
    )  # fmt: skip
    return {"corpus": corpus, **_judgements(judged, {row["id"] for row in corpus})}


def _judgements(
    judged: Iterable[tuple[str, str, Sequence[str]]], known: set[str]
) -> dict[str, list[Row]]:
    queries, qrels = [], []
    for key, text, right in judged:
        queries.append({"id": key, "text": text})
        qrels += [{"qid": key, "docid": each} for each in dict.fromkeys(right) if each in known]
    return {"queries": queries, "qrels": qrels}


def convert_attributionbench(contents: Sequence[bytes]) -> dict[str, list[Row]]:
    """Convert claims ``{claim, references, attribution_label, src_dataset}``."""
    claims = [
        {
            "id": row["id"],
            "claim": row["claim"],
            "evidence": row["references"],
            "label": row["attribution_label"],
            "source": row["src_dataset"],
        }
        for row in _lines(contents[0])
    ]
    return {"claims": claims}


def convert_wikicontradict(contents: Sequence[bytes]) -> dict[str, list[Row]]:
    """Convert pairs of passages rewritten to stand alone; the articles' names are in the other."""
    pairs, articles = _lines(contents[0]), json.loads(contents[1])
    titles = {each["annotationResult"]["paragraphA_information"]: each["title"]
              for each in articles}  # fmt: skip
    corpus, questions = [], []
    for number, row in enumerate(pairs):
        title, sides = titles.get(row["context1_info"], ""), []
        for side in ("1", "2"):
            text = row[f"context{side}_self_contained"]
            if side == "2" and text == row["context1_self_contained"]:
                continue  # both sides stand in one passage
            sides.append(f"wc{number}-{side}")
            corpus.append({"id": sides[-1], "title": title, "text": text,
                           "wikipedia": row[f"context{side}_info"]})  # fmt: skip
        answers = [row["answer1"], row["answer2"]]
        question = {"id": f"wc{number}", "question": row["question"]}
        questions.append({**question, "answers": answers, "doc_id": sides})
    return {"corpus": corpus, "qa": questions}


def convert_policyqa(contents: Sequence[bytes]) -> dict[str, list[Row]]:
    """Convert SQuAD's form: articles with paragraphs, their questions and spans."""
    corpus, questions = [], []
    for article in json.loads(contents[0])["data"]:
        for number, paragraph in enumerate(article["paragraphs"]):
            key = f"{article['title']}#{number}"
            corpus.append({"id": key, "title": article["title"], "text": paragraph["context"]})
            questions += [
                {"id": each["id"], "question": each["question"], "doc_id": key,
                 "answers": [answer["text"] for answer in each["answers"]]}
                for each in paragraph["qas"]
            ]  # fmt: skip
    return {"corpus": corpus, "qa": questions}


def convert_multispanqa(contents: Sequence[bytes]) -> dict[str, list[Row]]:
    """Convert tokens with labels ``B``, ``I`` and ``O``; a text is its tokens with blanks."""
    corpus, questions = [], []
    for row in json.loads(contents[0])["data"]:
        corpus.append({"id": row["id"], "text": " ".join(row["context"])})
        spans: list[list[str]] = []
        previous = "O"
        for token, label in zip(row["context"], row["label"], strict=True):
            if label == "B" or (label == "I" and previous == "O"):
                spans.append([])
            if label != "O":
                spans[-1].append(token)
            previous = label
        questions.append(
            {"id": row["id"], "question": " ".join(row["question"]), "doc_id": row["id"],
             "answers": [" ".join(span) for span in spans]}
        )  # fmt: skip
    return {"corpus": corpus, "qa": questions}


def _lines(content: bytes) -> Iterator[Row]:
    return map(json.loads, content.splitlines())
