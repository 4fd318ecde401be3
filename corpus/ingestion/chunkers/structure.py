"""Split a text into paragraphs, tables and listings, never across headings of level 1 to 3."""

from bisect import bisect_left
from collections.abc import Iterator, Mapping

from corpus.ingestion.chunkers.budget import ChunkBudget, SpanPair
from corpus.ingestion.chunkers.scopes import OpenScopes, find_scopes, path_under
from corpus.ingestion.chunkers.sections import (
    BudgetUnder,
    Section,
    Span,
    find_blocks,
    find_sections,
    find_units,
    merge_small_sections,
    pack,
)
from corpus.ingestion.normal_form import Outline


def split_structure(text: str, *, outline: Outline, budget: BudgetUnder) -> Iterator[Span]:
    """Pack the blocks of each section; split a block that does not fit between sentences.

    Small sections are merged first (``merge_small_sections``). Tables and listings are split
    between lines, and only if they do not fit. A heading stays with the text below it; the text
    under a deep heading or a label stays together if it fits. The path of a chunk contains the
    headings and labels before its start.
    """
    scopes = find_scopes(outline, len(text))
    ends = {scope.start: scope.end for scope in reversed(scopes)}
    above = OpenScopes(scopes)
    counter = budget(()).embedder_counter
    for section in merge_small_sections(find_sections(text, outline), counter):
        # The smallest budget under the headings and labels of the section.
        first, last = (
            bisect_left(scopes, position, key=lambda scope: scope.start)
            for position in (section.start, section.end)
        )
        inside = OpenScopes(scopes[first:last])
        paths = {
            path_under(section.path, inside.at(scope.start + 1), since=section.start)[0]
            for scope in scopes[first:last]
        }
        budgets = (budget(path) for path in {section.path, *paths})
        tightest = min(budgets, key=lambda each: each.embedder_limit)
        for start, end in _split_section(text, section, ends, tightest):
            path, level = path_under(section.path, above.at(start), since=section.start)
            yield Span(start, end, path, level or section.level, outline.page_at(start))


def _split_section(
    text: str, section: Section, ends: Mapping[int, int], budget: ChunkBudget
) -> Iterator[SpanPair]:
    pieces: list[SpanPair] = []
    block_ends: dict[int, int] = {}
    boundaries: list[int] = []
    heading_start = -1
    for block in find_blocks(text, section.start, section.end):
        units = list(find_units(text, block, budget))
        boundaries += [start for start, _ in units]
        parts = [(block.start, block.end)] if budget.fits(block.start, block.end) else units
        if heading_start >= 0 and budget.fits(heading_start, parts[0][1]):
            pieces.pop()
            parts[0] = heading_start, parts[0][1]
        pieces += parts
        begin = parts[0][0]
        block_ends[begin] = max(block.end, min(ends.get(begin, 0), section.end))
        is_heading = block.end < ends.get(block.start, 0)
        heading_start = parts[-1][0] if is_heading else -1
    return pack(text, pieces, boundaries=boundaries, block_ends=block_ends, budget=budget)
