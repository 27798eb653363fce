"""Folders that are listed before all have written: what is numbered must be ranks, not workers of one process."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from distlint.analysis import Source, build_model
from distlint.analysis.questions.shares_of_files import used_early

SHARED = """
    def write_shard(ds, shard_index, folder):
        with open(f"{folder}/shard-{shard_index}.jsonl", "w") as f:
            f.write(str(ds.shard(num_shards=8, index=shard_index)))
    """
POOL = """
    if __name__ == "__main__":
        ds, folder = read()
        pool = ThreadPoolExecutor() if len(ds) > 8 else None
        for i in range(8):
            if pool:
                pool.submit(write_shard, ds, i, folder)
            else:
                write_shard(ds, i, folder)
        found = list(Path(folder).glob("*"))
    """
RANKS = POOL.replace("range(8)", 'range(int(os.environ["RANK"]), 8, 2)')


@pytest.mark.parametrize(("user", "early"), [(POOL, 0), (RANKS, 1)])
def test_workers_of_a_pool_are_no_ranks(user: str, early: int) -> None:
    head = (
        "import os\nfrom concurrent.futures import ThreadPoolExecutor\nfrom pathlib import Path\n"
    )
    text = head + dedent(SHARED) + dedent(user)
    model = build_model([Source("m.py", "m", text, ast.parse(text))])
    assert len(list(model.answer(used_early))) == early
