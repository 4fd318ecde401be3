"""Read a data set folder: documents, queries, questions and gold answers.

A folder contains these files, each as ``.jsonl`` or ``.jsonl.gz``; unused ones may be omitted::

    corpus   {id, title?, text} or {id, title?, path}
    queries  {id, text}
    qrels    {qid, docid, grade}
    qa       {id, question, answers[]?, doc_id?, answerable?, kind?, history[]?}

A path is relative to the folder. If a document has a path, its text is ignored.
"""

import gzip
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from corpus.errors import InvalidDataSet

FILES = ("corpus", "queries", "qrels", "qa")


@dataclass(frozen=True, slots=True)
class GoldDocument:
    """A document: its text, or the file with it."""

    id: str
    title: str = ""
    text: str = ""
    path: Path | None = None


@dataclass(frozen=True, slots=True)
class GoldQuery:
    """A query, with the grade of each relevant document.

    Attributes:
        answers: Gold answers that a relevant passage contains, if known.
    """

    id: str
    text: str
    relevant: Mapping[str, int]
    answers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Turn:
    """An earlier question of a conversation, and its answer."""

    question: str
    answer: str


@dataclass(frozen=True, slots=True)
class GoldQuestion:
    """A question, its gold answers, and the documents that contain them.

    Attributes:
        doc_ids: Each of them contains the answer.
        explicit_kind: Kind of question; if empty, it follows from ``is_answerable``.
        history: Earlier turns, oldest first.
    """

    id: str
    text: str
    answers: tuple[str, ...] = ()
    doc_ids: tuple[str, ...] = ()
    is_answerable: bool = True
    explicit_kind: str = ""
    history: tuple[Turn, ...] = ()

    @property
    def kind(self) -> str:
        return self.explicit_kind or ("answerable" if self.is_answerable else "unanswerable")


@dataclass(frozen=True, slots=True)
class DataSet:
    name: str
    documents: tuple[GoldDocument, ...] = ()
    queries: tuple[GoldQuery, ...] = ()
    questions: tuple[GoldQuestion, ...] = ()

    @property
    def counts(self) -> dict[str, int]:
        names = ("documents", "queries", "questions")
        return {name: len(getattr(self, name)) for name in names}


@dataclass(frozen=True, slots=True)
class DataRow:
    """A line of a file, with its position for errors."""

    path: Path
    number: int
    fields: Mapping[str, Any]

    def error(self, reason: str) -> InvalidDataSet:
        return InvalidDataSet(f"{self.path}:{self.number}: {reason}")

    def text(self, name: str, *, default: str | None = None) -> str:
        value = self.fields.get(name, default)
        if not isinstance(value, str) or (default is None and not value.strip()):
            raise self.error(f"{name!r} must be a text.")
        return value

    def key(self, name: str) -> str:
        value = self.fields.get(name)
        # bool is a subclass of int.
        if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
            raise self.error(f"{name!r} must be an id.")
        return str(value)

    def texts(self, name: str) -> tuple[str, ...]:
        value = self.fields.get(name) or []
        values = [value] if isinstance(value, str) else value
        if not isinstance(values, list) or not all(isinstance(item, str) for item in values):
            raise self.error(f"{name!r} must be a list of texts.")
        return tuple(values)

    def objects(self, name: str) -> list[dict[str, Any]]:
        value = self.fields.get(name, [])
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            raise self.error(f"{name!r} must be a list of objects.")
        return value


def read_dataset(folder: Path) -> DataSet:
    """Read a folder; without queries, the answerable questions are the queries.

    Raises:
        InvalidDataSet: It is empty, or a line is invalid; the message names file and line.
    """
    if not folder.is_dir():
        raise InvalidDataSet(f"{folder} is no folder.")
    rows = {name: list(read_rows(folder, name)) for name in FILES}
    if not any(rows.values()):
        wanted = ", ".join(f"{name}.jsonl" for name in FILES)
        raise InvalidDataSet(f"{folder} holds no data set: none of {wanted} (.gz).")
    documents = tuple(_document(row) for row in rows["corpus"])
    # Ids are checked, so that a typing error does not count as a document that search missed.
    document_ids = {document.id for document in documents}
    relevant = _read_qrels(rows["qrels"], document_ids)
    questions = tuple(_question(row, document_ids, relevant) for row in rows["qa"])
    answers = {question.id: question.answers for question in questions}
    texts = {row.key("id"): row.text("text") for row in rows["queries"]}
    # A query without a relevant document cannot be measured.
    queries = [
        GoldQuery(key, text, relevant[key], answers.get(key, ()))
        for key, text in texts.items()
        if key in relevant
    ]
    return DataSet(
        name=folder.resolve().name,
        documents=documents,
        queries=tuple(queries) or queries_of(questions),
        questions=questions,
    )


def queries_of(questions: Sequence[GoldQuestion]) -> tuple[GoldQuery, ...]:
    """Return each answerable question as a query; relevant are the documents that answer it."""
    return tuple(
        GoldQuery(question.id, question.text, dict.fromkeys(question.doc_ids, 1), question.answers)
        for question in questions
        if question.is_answerable and question.doc_ids
    )


def sample_dataset(
    dataset: DataSet, *, query_count: int | None, document_count: int | None, seed: int
) -> DataSet:
    """Return a sample of a data set, deterministic for a seed.

    Documents needed by the sampled queries and questions always stay.
    """
    queries = draw(dataset.queries, query_count, seed)
    questions = draw(dataset.questions, query_count, seed)
    documents = dataset.documents
    if document_count is not None:
        needed = {key for query in queries for key in query.relevant}
        needed |= {key for question in questions for key in question.doc_ids}
        others = [document for document in documents if document.id not in needed]
        room = max(0, document_count - len(needed))
        needed |= {document.id for document in draw(tuple(others), room, seed)}
        documents = tuple(document for document in documents if document.id in needed)
    return DataSet(dataset.name, documents, queries, questions)


def draw_foreign_questions(
    dataset: DataSet, *, count: int | None, seed: int
) -> tuple[GoldQuestion, ...]:
    """Draw answerable questions, as unanswerable ones for the documents of another data set."""
    answerable = tuple(each for each in dataset.questions if each.is_answerable)
    return tuple(
        GoldQuestion(
            f"{dataset.name}/{each.id}", each.text, is_answerable=False, explicit_kind="foreign"
        )
        for each in draw(answerable, count, seed)
    )


def draw(items: tuple[Any, ...], count: int | None, seed: int) -> tuple[Any, ...]:
    """Draw a random sample, in the original order."""
    if count is None or count >= len(items):
        return items
    indexes = sorted(Random(seed).sample(range(len(items)), count))  # noqa: S311  (no secret)
    return tuple(items[index] for index in indexes)


def read_rows(folder: Path, name: str) -> Iterator[DataRow]:
    """Yield the lines of a file, gzipped or not; none if it is missing."""
    plain, zipped = folder / f"{name}.jsonl", folder / f"{name}.jsonl.gz"
    path = plain if plain.is_file() else zipped
    if not path.is_file():
        return
    number = 0
    known_ids: set[str] = set()
    try:
        with (gzip.open if path == zipped else open)(path, "rt", encoding="utf-8") as lines:
            for number, line in enumerate(lines, start=1):
                if not line.strip():
                    continue
                row = DataRow(path, number, json.loads(line))
                if not isinstance(row.fields, dict):
                    raise row.error("is no JSON object.")
                # A line of qrels has no id of its own: several lines may belong to one query.
                key = "" if "qid" in row.fields else row.key("id")
                if key in known_ids:
                    raise row.error(f"the id {key!r} stands there twice.")
                if key:
                    known_ids.add(key)
                yield row
    except (OSError, EOFError, UnicodeDecodeError) as exc:
        raise InvalidDataSet(f"{path}:{number + 1}: cannot be read: {exc}") from exc
    except ValueError as exc:
        raise InvalidDataSet(f"{path}:{number}: is no JSON: {exc}") from exc


def _document(row: DataRow) -> GoldDocument:
    title = row.text("title", default="")
    if "path" not in row.fields and "text" not in row.fields:
        raise row.error("'text' or 'path' is missing.")
    if "path" not in row.fields:
        # Some data sets have documents without text; they are read, but not indexed.
        return GoldDocument(row.key("id"), title, row.text("text", default=""))
    path = (row.path.parent / row.text("path")).resolve()
    if not path.is_file():
        raise row.error(f"there is no file {path}.")
    return GoldDocument(row.key("id"), title, path=path)


def _read_qrels(rows: Sequence[DataRow], document_ids: set[str]) -> dict[str, dict[str, int]]:
    relevant: dict[str, dict[str, int]] = defaultdict(dict)
    for row in rows:
        grade = row.fields.get("grade", 1)
        if not isinstance(grade, int):
            raise row.error("'grade' must be a whole number.")
        key = row.key("docid")
        if key not in document_ids:
            raise row.error(f"the corpus has no document {key!r}.")
        # All metrics treat a document that was judged irrelevant like one that was not judged.
        if grade > 0:
            relevant[row.key("qid")][key] = grade
    return relevant


def _question(
    row: DataRow, document_ids: set[str], relevant: Mapping[str, Mapping[str, int]]
) -> GoldQuestion:
    key = row.key("id")
    doc_ids = row.texts("doc_id") or tuple(relevant.get(key, ()))
    answerable = row.fields.get("answerable", True)
    if not isinstance(answerable, bool):
        raise row.error("'answerable' must be true or false.")
    unknown_ids = [doc_id for doc_id in doc_ids if doc_id not in document_ids]
    if document_ids and unknown_ids:
        raise row.error(f"the corpus has no document {unknown_ids[0]!r}.")
    return GoldQuestion(
        key,
        row.text("question"),
        row.texts("answers"),
        doc_ids,
        answerable,
        row.text("kind", default=""),
        tuple(_turns(row)),
    )


def _turns(row: DataRow) -> Iterator[Turn]:
    """Yield each question of the conversation with the agent's reply to it, which may be empty."""
    turns = row.objects("history")
    is_valid = all(
        isinstance(each.get("text"), str) and each.get("speaker") in ("user", "agent")
        for each in turns
    )
    if not is_valid:
        raise row.error("'history' must be a list of objects with 'speaker' and 'text'.")
    for index, each in enumerate(turns):
        if each["speaker"] == "user" and each["text"].strip():
            following = turns[index + 1 : index + 2]
            replies = [reply["text"] for reply in following if reply["speaker"] == "agent"]
            yield Turn(each["text"], "".join(replies))
