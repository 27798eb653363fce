"""Which fix a finding offers depends on the file around it, where one cases.py cannot show both."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from distlint.cli import main

UNWRAPS = """\
{imports}


def unwrapped(chunk):
    return chunk.module if hasattr(chunk, "module") else chunk
"""


@pytest.mark.parametrize(
    ("imports", "offered"),
    [
        ("import torch", "unsafe"),
        # `unwrap` would leave their wrappers on, and the names of the weights would change.
        ("from megatron.core import mpu", "display"),
        ("import colossalai", "display"),
    ],
)
def test_unwrap_is_only_shown_beside_wrappers_of_other_libraries(
    tmp_path: Path, imports: str, offered: str
) -> None:
    file = tmp_path / "model.py"
    file.write_text(UNWRAPS.format(imports=imports))
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    with redirect_stdout(out), pytest.raises(SystemExit):
        main(["check", "--no-cache", "--select", "DL205", "--output-format", "json", str(file)])
    (finding,) = json.loads(out.detach().getvalue())["findings"]
    assert finding["fix"]["applicability"] == offered
