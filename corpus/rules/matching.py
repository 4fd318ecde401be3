"""Compare rules with documents: stored ones in SQL, and one that is not stored yet."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_, or_
from typing import Any

from django.contrib.postgres.search import SearchVector, SearchVectorExact
from django.db.models import (
    BooleanField,
    Exists,
    ExpressionWrapper,
    F,
    Func,
    JSONField,
    OuterRef,
    Q,
    QuerySet,
    TextField,
    Value,
)
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Concat, Substr
from django.db.models.lookups import IContains

from corpus.lexical import Phrase, character_ngrams, find_phrases, phrase_condition
from corpus.models import Chunk, Collection, Document, Rule
from corpus.models.document import DocumentQuerySet
from corpus.roots.shown_paths import shown_column, shown_path, shown_uri
from corpus.rules.conditions import like_pattern
from corpus.tags import add_tags

# Documents shown in a preview.
SHOWN = 50
# Documents of one transaction when a rule is applied at once.
BATCH_SIZE = 500
# Length of a stored file's path before its name: its folder and a slash.
_FOLDER_CHARS = 33
# Characters that join words in a title that is a file name: Postgres would see one word.
_JOINTS = "._-/\\:;,()[]{}+&"

_Link = Document.tags.through


class _Like(Func):
    """Condition: a text matches a LIKE pattern, ignoring case."""

    output_field = BooleanField()
    template = "(%(expressions)s)"
    arg_joiner = " ILIKE "


@dataclass(frozen=True, slots=True)
class RulePreview:
    """The effect of a rule on the stored documents.

    Attributes:
        matching_count: Matching documents.
        changing_count: Matching documents without all of its tags.
        documents: The newest of those, else of all matches, with their missing tags.
    """

    matching_count: int
    changing_count: int
    documents: list[tuple[Document, list[str]]]


def preview_rule(rule: Rule) -> RulePreview:
    """Return the effect of a rule, stored or not; changes nothing."""
    matching = matching_documents(rule)
    changing = without_tags(matching, rule.tags)
    changing_count = changing.count()
    shown = (changing if changing_count else matching).listed().order_by("-created_at", "pk")
    documents = []
    for document in shown[:SHOWN]:
        present = {tag.name for tag in document.tags.all()}
        documents.append((document, [name for name in rule.tags if name not in present]))
    return RulePreview(matching.count(), changing_count, documents)


def apply_rule(rule: Rule) -> int:
    """Tag the stored documents in batches; return how many changed."""
    count = 0
    while keys := list(
        without_tags(matching_documents(rule), rule.tags).values_list("pk", flat=True)[:BATCH_SIZE]
    ):
        count += add_tags(keys, rule.tags)
    return count


def without_tags(documents: DocumentQuerySet, tags: Iterable[str]) -> DocumentQuerySet:
    """Filter documents that lack one of the tags; none if there are no tags."""
    links = [_Link.objects.filter(document=OuterRef("pk"), tag__name=name) for name in tags]
    if not links:
        return documents.none()
    return documents.filter(reduce(or_, [~Q(Exists(links_of_tag)) for links_of_tag in links]))


@dataclass(frozen=True, slots=True)
class RuleSubject:
    """The values of a document that is not stored yet, which rules are compared with.

    Attributes:
        upload_name: Name of its uploaded file; empty without one.
    """

    collection: Collection
    title: str
    metadata: Mapping[str, Any]
    file_path: str
    source_uri: str
    upload_name: str

    def names(self, *, is_whole: bool) -> list[Any]:
        """Return its names as ``_searched_names``."""
        path = self.file_path
        paths = [path] if is_whole else [shown_path(path), "/".join(path.split("/")[-2:])]
        names = [*paths, shown_uri(self.source_uri, file_path=path), self.upload_name]
        return [Value(name, output_field=TextField()) for name in dict.fromkeys(names)]


@dataclass(frozen=True, slots=True)
class _Operands:
    """The SQL expressions that the conditions of a rule are compared with.

    Attributes:
        names: See ``_searched_names``.
        languages: The conditions that the collection has a language, by language.
        contains: Returns the condition that the text contains a phrase.
    """

    names: Sequence[Any]
    title: Any
    metadata: Any
    languages: Mapping[str, Q]
    contains: Callable[[str], Q]


def matching_documents(rule: Rule) -> DocumentQuerySet:
    """Return the stored documents that match a rule."""
    languages = Collection.objects.order_by().values_list("language", flat=True).distinct()
    return Document.objects.stored().filter(_stored_condition(rule, list(languages)))


def matching_rules(document: Document, rules: Sequence[Rule]) -> list[Rule]:
    """Return the rules that match a document, stored with its chunks."""
    languages = [document.collection.language]
    conditions = [_stored_condition(rule, languages) for rule in rules]
    return _select_rules(rules, conditions, Document.objects.filter(pk=document.pk))


def matching_rules_of_new(
    subject: RuleSubject, rules: Sequence[Rule], *, passages: Sequence[str]
) -> list[Rule]:
    """Return the rules that match a document before it is stored.

    Args:
        passages: The text of its chunks, each with its context.
    """
    phrases = {phrase for rule in rules for phrase in rule.words}
    occurring = find_phrases(phrases, passages, language=subject.collection.language)
    operands = {
        is_whole: _Operands(
            names=subject.names(is_whole=is_whole),
            title=Value(subject.title, output_field=TextField()),
            metadata=Value(dict(subject.metadata), output_field=JSONField()),
            languages={subject.collection.language: Q()},
            contains=lambda phrase: Q(Value(phrase in occurring, output_field=BooleanField())),
        )
        for is_whole in (True, False)
    }
    conditions = [_rule_condition(rule, operands[rule.is_set]) for rule in rules]
    # Any single row will do: the conditions contain the document's values.
    return _select_rules(rules, conditions, Collection.objects.filter(pk=subject.collection.pk))


def _stored_condition(rule: Rule, languages: Sequence[str]) -> Q:
    """Return the condition that a stored document matches a rule, in one of the languages."""

    def contains(phrase: str) -> Q:
        in_a_row = phrase_condition(phrase, languages, Phrase)
        return Q(Exists(Chunk.objects.filter(in_a_row, document=OuterRef("pk"))))

    operands = _Operands(
        names=_searched_names(is_whole=rule.is_set),
        title=F("title"),
        metadata="metadata",
        languages={name: Q(collection__language=name) for name in languages},
        contains=contains,
    )
    return _rule_condition(rule, operands)


def _select_rules(
    rules: Sequence[Rule], conditions: Sequence[Q], row: "QuerySet[Any]"
) -> list[Rule]:
    """Return the rules whose conditions a row of the database meets."""
    if not rules:
        return []
    wrapped = [ExpressionWrapper(each, output_field=BooleanField()) for each in conditions]
    matches = row.values_list(*wrapped).get()
    return [rule for rule, is_match in zip(rules, matches, strict=True) if is_match]


def _searched_names(*, is_whole: bool) -> list[Any]:
    """Return the names that a path pattern is compared with: path, URL, upload name.

    Args:
        is_whole: Whether it is a rule of the operator, which sees full paths. Other rules see only
            the path shown to clients; else users could guess the rest letter by letter.
    """
    with_folder = Func(
        F("file_path"), Value("[^/]*/[^/]*$"), function="substring", output_field=TextField()
    )
    paths = [F("file_path")] if is_whole else [shown_column("file_path"), with_folder]
    return [*paths, shown_column("source_uri"), Substr("kept_file", _FOLDER_CHARS + 1)]


def _rule_condition(rule: Rule, operands: _Operands) -> Q:
    conditions = [operands.contains(phrase) for phrase in rule.words]
    conditions += [_title_condition(phrase, operands) for phrase in rule.title]
    if rule.path:
        # A name, or its part after a slash, matches.
        pattern = Value(f"%/{like_pattern(rule.path)}")
        begun = [Concat(Value("/"), name, output_field=TextField()) for name in operands.names]
        conditions.append(reduce(or_, [Q(_Like(name, pattern)) for name in begun]))
    if rule.sender:
        # The sender's address, or the full line, matches.
        line = KeyTextTransform("from", operands.metadata)
        address = Func(
            line, Value("<([^<>]*)>[^<>]*$"), function="substring", output_field=TextField()
        )
        pattern = Value(like_pattern(rule.sender))
        conditions.append(Q(_Like(line, pattern)) | Q(_Like(address, pattern)))
    return reduce(and_, conditions)


def _title_condition(phrase: str, operands: _Operands) -> Q:
    spaced = Func(
        operands.title, Value(_JOINTS), Value(" " * len(_JOINTS)),
        function="translate", output_field=TextField(),
    )  # fmt: skip
    words = phrase.translate({ord(joint): " " for joint in _JOINTS})
    conditions = [
        of_language
        & Q(
            SearchVectorExact(
                SearchVector(spaced, config=language), Phrase(words, language=language)
            )
        )
        for language, of_language in operands.languages.items()
    ]
    if character_ngrams(phrase):
        conditions.append(Q(IContains(operands.title, phrase)))
    return reduce(or_, conditions)
