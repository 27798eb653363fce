"""What shows that a file comes from a GPU, and what follows from a rank that is asked for too early."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.checked import severities

LOADED = """
import torch
import torch.distributed as dist

def load(net, path):
    dist.init_process_group("nccl")
    net.load_state_dict(torch.load(path)["state_dict"])
"""

EARLY = """
import torch.distributed as dist

def rank():
    if not dist.is_initialized():
        return 0
    return dist.get_rank()

def main(make):
    loader = make() if rank() == 0 else None
    dist.init_process_group("nccl")
    if dist.get_rank() == 0:
        return loader
"""

RAISES = """
import torch.distributed as dist

def main():
    rank = dist.get_rank()
    dist.init_process_group("nccl")
    return rank

if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize(
    ("writer", "expected"),
    [
        # 3DTopia be8562d model/triplane_vae.py:342: what others have published
        ("def show(image):\n    image.save('out.png')\n", "info"),
        (
            "import torch, torch.distributed\ndef keep(net):\n    torch.save(net.state_dict(), 'net.pt')\n",
            "warning",
        ),
        (
            "from lightning.pytorch import Trainer\ndef train(net):\n    Trainer().fit(net)\n",
            "warning",
        ),
    ],
)
def test_a_program_that_writes_no_weights_loads_those_of_others(
    tmp_path: Path, writer: str, expected: str
) -> None:
    user = f"from file_0 import load\n{writer}"
    assert severities(tmp_path, "DL505", LOADED, user) == [expected]


BACKBONE = """
import torch
import torch.distributed as dist
from torchvision import models

def load(path, classes):
    dist.init_process_group("nccl")
    net = models.resnet18({given})
    net.load_state_dict(torch.load(path))
    net.fc = torch.nn.Linear(net.fc.in_features, classes)
    return net

def keep(net):
    torch.save(net.state_dict(), "net.pt")
"""


@pytest.mark.parametrize(
    ("given", "expected"),
    [("", "info"), ("pretrained=False", "info"), ("num_classes=classes", "warning")],
)
def test_a_network_of_torchvision_as_it_comes_gets_published_weights(
    tmp_path: Path, given: str, expected: str
) -> None:
    # IDvs.MoRec ce372cf bce_vision/main-end2end/run.py:41
    assert severities(tmp_path, "DL505", BACKBONE.format(given=given)) == [expected]


def test_what_is_asked_too_early_is_a_warning_where_nothing_raises(tmp_path: Path) -> None:
    # 4K4D 712eccb easyvolcap/scripts/main.py:222: the other ranks make a loader and drop it
    assert severities(tmp_path, "DL509", EARLY) == ["warning"]


def test_what_raises_on_every_rank_is_no_more_in_preview(tmp_path: Path) -> None:
    assert severities(tmp_path, "DL509", RAISES) == ["warning"]


INDEXED = """
import torch
from accelerate import Accelerator

class Trainer:
    def __init__(self):
        self.accelerator = Accelerator()

    def first_ends(self, model, prompts):
        ended = model.generate(prompts) == self.end
        first = torch.full((ended.size(0),), ended.size(1), device=self.accelerator.device)
        first[ended.any(dim=1)] = 0
        return first
"""


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("", "info"),
        (", device_map=get_kbit_device_map()", "info"),
        (", device_map={'': 0}", "info"),
        (", device_map='auto'", "warning"),
        (", **{'device_map': 'balanced'}", "warning"),
    ],
)
def test_two_devices_where_a_program_spreads_a_model(
    given: str, expected: str, tmp_path: Path
) -> None:
    # Video-R1 59d65c3 src/r1-v/src/open_r1/trainer/grpo_trainer.py:509; its evaluation, which spreads the model, is
    # another program
    start = f"""
from file_0 import Trainer
from transformers import AutoModelForCausalLM

model = AutoModelForCausalLM.from_pretrained("small"{given})
Trainer().first_ends(model, ["once"])
"""
    apart = """
from transformers import AutoModelForCausalLM

model = AutoModelForCausalLM.from_pretrained("small", device_map="auto")
"""
    assert severities(tmp_path, "DL506", INDEXED, start, apart) == [expected]


MODULE = """
import torch
from pytorch_lightning import LightningModule


class Policy(LightningModule):
    def on_fit_start(self):
        self.net.load_state_dict(torch.load(self.checkpoint))

    def training_step(self, batch, index):
        return self.net(batch).mean()
"""


@pytest.mark.parametrize(
    ("devices", "expected"),
    [("1", []), ("one", []), ("8", ["warning"]), ("several", ["warning"])],
)
def test_a_module_whose_trainers_have_one_device(
    devices: str, expected: list[str], tmp_path: Path
) -> None:
    """warp-drive bac017e tutorials/tutorial-7: `num_gpus = 1`, and `devices=num_gpus`."""
    user = f"""
from pytorch_lightning import Trainer
from file_0 import Policy

one = 1
several = 8
trainer = Trainer(accelerator="gpu", devices={devices})
trainer.fit(Policy())
"""
    assert severities(tmp_path, "DL505", MODULE, user) == expected
