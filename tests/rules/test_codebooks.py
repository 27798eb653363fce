"""Codebooks that follow one rank's averages (DL625), and the program around them: who trains, who freezes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.checked import findings_in

CODES = """
import torch
from torch import nn

class Codes(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("embed", torch.zeros(8, 4))
        self.register_buffer("cluster_size", torch.zeros(8))
        self.register_buffer("embed_avg", torch.zeros(8, 4))

    def forward(self, used, x):
        self.cluster_size.mul_(0.9).add_(used.sum(0), alpha=0.1)
        self.embed_avg.mul_(0.9).add_(used.t() @ x, alpha=0.1)
        self.embed.copy_(self.embed_avg / self.cluster_size[:, None])

class Codec(nn.Module):
    def __init__(self):
        super().__init__()
        self.codes = Codes()
"""
TRAINS = """
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from codes import Codec

def train(loader, other):
    dist.init_process_group("nccl")
    codec = Codec()
    {then}
    net = DistributedDataParallel({net})
    for batch in loader:
        net(batch).mean().backward()
"""
LOOKS = """
from codes import Codec

def load():
    codec = Codec()
    codec.eval()
    return codec
"""


FITS = """
import torch.distributed as dist

def fit(net, loader):
    for batch in loader:
        net(batch).mean().backward()
"""
STARTS = """
import torch.distributed as dist
from codes import Codec
from fitting import fit
dist.init_process_group("nccl")
fit(Codec(), ())
"""


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({"train.py": TRAINS.format(then="codec.cuda()", net="codec")}, [("codes.py", 13)]),
        (
            {"train.py": TRAINS.format(then="", net="codec"), "look.py": LOOKS},
            [("codes.py", 13)],
        ),
        ({"train.py": TRAINS.format(then="codec.eval()", net="other")}, []),
        ({"train.py": TRAINS.format(then="codec.requires_grad_(False)", net="other")}, []),
        ({"look.py": LOOKS}, []),
        # SwissArmyTransformer imports its frozen tokenizer in a script that leads to a training, examples/cogview/pretrain_gpt2.py.
        ({"fitting.py": FITS, "train_codec.py": STARTS}, []),
    ],
)
def test_who_trains_the_model_of_a_codebook(
    files: dict[str, str],
    found: list[tuple[str, int]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert findings_in("DL625", tmp_path, {"codes.py": CODES, **files}, capsys) == found
