"""Images of Pillow that several ranks save, by what makes them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.checked import lines_of

HEAD = """\
import torch.distributed as dist
from PIL import Image
from torchvision.transforms.functional import to_pil_image

"""


@pytest.mark.parametrize(
    "line",
    [
        'Image.fromarray(x).save("grid.png")',
        'Image.open(path).convert("RGB").save("grid.png")',
        'Image.new("RGB", (8, 8)).resize((4, 4)).save(fp="grid.png")',
        'to_pil_image(x).save("grid.png")',
    ],
)
def test_an_image_is_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str], line: str) -> None:
    text = f"{HEAD}def sample(x, path):\n    dist.barrier()\n    {line}\n"
    assert lines_of("DL301", tmp_path, text, capsys) == [7]


@pytest.mark.parametrize(
    "line",
    [
        'Image.fromarray(x).save(f"{dist.get_rank():06d}.png")',
        "Image.fromarray(x).show()",
        'x.save("grid.png")',
        'Image.fromarray(x).resize((4, 4)).getdata().save("grid.png")',
    ],
)
def test_not_every_save_is_of_a_shared_image(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], line: str
) -> None:
    text = f"{HEAD}def sample(x, path):\n    dist.barrier()\n    {line}\n"
    assert lines_of("DL301", tmp_path, text, capsys) == []
