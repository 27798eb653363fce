"""Edits for downloads that every rank makes: one goes first, the others find what it left."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from distlint.analysis.model import Model, span_of
from distlint.analysis.questions.filesystem import FileCall
from distlint.edits import WrapInWith
from distlint.findings import Applicability, Fix
from distlint.knowledge.schema import Effect
from distlint.repairs.blocks import block_with

_SOURCES = frozenset(
    {"url", "repo_or_dir", "github", "repo_id", "path_or_repo_id", "info_or_id", "name"}
)
"""Keywords of what is fetched, in rows of the tables."""


def first(model: Model, found: FileCall, safety: Applicability) -> Fix:
    """The download, and those right above and below it, under one `main_process_first()`.

    What goes into a cache of the library's choosing is there for one machine: its first rank goes first.
    """
    statement = found.site.statement
    local = _into_a_cache(found)
    made = {
        id(each.site.statement)
        for each in _first_ones(model.file_calls)
        if each.function is found.function and _into_a_cache(each) is local
    }
    block = block_with(found.function, statement) or [statement]
    run = _neighbours(block, statement, made)
    header = "$main_process_first(local=True)" if local else "$main_process_first()"
    who = "the first rank of each machine" if local else "rank 0"
    return Fix(
        safety,
        f"Let {who} download first: `{header[1:]}`",
        (WrapInWith(span_of(run[0]), span_of(run[-1]), header),),
    )


def _first_ones(calls: list[FileCall]) -> Iterator[FileCall]:
    """The downloads, without those of what the same file has fetched further up."""
    fetched: set[tuple[str, str]] = set()
    for call in calls:
        if call.effect is Effect.DOWNLOAD:
            value = call.sites[0][2]
            key = (call.site.module.path, str(value.const)) if value and value.known else None
            if key is None or key not in fetched:
                yield call
            if key is not None:
                fetched.add(key)


def _into_a_cache(found: FileCall) -> bool:
    """Whether the library chooses the place: what stands for a path names what to fetch, or nothing does."""
    return found.path is None or found.row.path_keyword in _SOURCES


def _neighbours(block: list[ast.stmt], statement: ast.stmt, made: set[int]) -> list[ast.stmt]:
    """The statements around one that download, too, with nothing between."""
    start = end = block.index(statement)
    while start and id(block[start - 1]) in made:
        start -= 1
    while end + 1 < len(block) and id(block[end + 1]) in made:
        end += 1
    return block[start : end + 1]
