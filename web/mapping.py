"""The map of a collection, ready to be drawn."""

from dataclasses import dataclass
from datetime import datetime

from corpus.models import Chunk, Collection, CollectionMap, Document
from web.charts import HUES, Dot, place_dot


@dataclass(frozen=True, slots=True)
class Plotted:
    """A chunk on the map."""

    chunk: Chunk
    document: Document
    dot: Dot


@dataclass(frozen=True, slots=True)
class DrawnMap:
    """A collection's map.

    Attributes:
        legend: The documents with most dots, by hue; the others share their hues.
    """

    plotted: list[Plotted]
    legend: list[tuple[int, Document]]
    variance_share: float
    computed_at: datetime


def read_map(collection: Collection) -> DrawnMap | None:
    """Return the map as it was last computed, without what was deleted since; None for none."""
    kept = CollectionMap.objects.filter(collection=collection).first()
    if kept is None:
        return None
    places = {point["chunk_id"]: (point["x"], point["y"]) for point in kept.points}
    rows = Chunk.objects.filter(pk__in=places).select_related("document")
    chunks = list(
        rows.only(
            "text_preview", "start_char", "end_char", "heading_path",
            "document__title", "document__source_uri",
        )
    )  # fmt: skip
    counts: dict[Document, int] = {}
    for chunk in chunks:
        counts[chunk.document] = counts.get(chunk.document, 0) + 1
    by_size = sorted(counts, key=lambda document: (-counts[document], document.pk))
    hues = {document.pk: rank for rank, document in enumerate(by_size)}
    plotted = [
        Plotted(
            chunk,
            chunk.document,
            place_dot(*places[str(chunk.pk)], hue=hues[chunk.document_id]),
        )
        for chunk in chunks
    ]
    legend = list(enumerate(by_size[:HUES]))
    return DrawnMap(plotted, legend, kept.variance_share, kept.computed_at)
