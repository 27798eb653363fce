"""Folders that each process of a JAX script fills for itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.checked import findings_in

SCRIPT = """\
from pathlib import Path

import jax
{imports}

def main(args, pictures):
    folder = Path(args.folder)
    for index, picture in enumerate(pictures):
        picture.save(folder / f"{{jax.process_index()}}-{{index}}.jpg")
    return Dataset(args.folder)


class Dataset:
    def __init__(self, root):
        self.paths = list(Path(root).iterdir())


def train(args, pictures):
{start}
    data = main(args, pictures)
    rank = int(os.environ["RANK"])
    if rank == 0:
        print(len(data.paths))
"""


@pytest.mark.parametrize(
    ("imports", "start", "lines"),
    [
        ("import os\nfrom flax import jax_utils", "    print('begin')", []),
        (
            "import os\nimport torch.distributed as dist",
            "    dist.init_process_group('gloo')",
            [16],
        ),
    ],
)
def test_no_torch_ranks_in_jax(
    imports: str,
    start: str,
    lines: list[int],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = SCRIPT.format(imports=imports, start=start)
    found = findings_in("DL311", tmp_path, {"train.py": text}, capsys)
    assert found == [("train.py", n) for n in lines]
