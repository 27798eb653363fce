"""A loop of a rank's own length around `generate()` (DL104): of a model that one process holds, it waits for nobody."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.checked import lines_of, marked

CAPTIONS = """
import torch.distributed as dist
from accelerate import Accelerator, PartialState{also}
from transformers import PreTrainedModel


def load(path, device):
    return PreTrainedModel.from_pretrained(path, {placed})


def main(model: PreTrainedModel, prompts):
    {wrapped}
    state = PartialState()
    with state.split_between_processes(prompts) as part:
        for prompt in part:
            print(model.generate(prompt)){mark}
    state.wait_for_everyone()
"""

SHARDS = ", FullyShardedDataParallelPlugin"
PLACED = CAPTIONS.format(also=SHARDS, placed="device_map=device", wrapped="", mark="")
LOADED = CAPTIONS.format(also=SHARDS, placed="revision=device", wrapped="", mark="  # here")
UNSHARDED = CAPTIONS.format(also="", placed="revision=device", wrapped="", mark="")
WRAPPED = CAPTIONS.format(
    also=SHARDS,
    placed="device_map=device",
    wrapped="model = Accelerator().prepare(model)",
    mark="  # here",
)


@pytest.mark.parametrize("text", [PLACED, LOADED, UNSHARDED, WRAPPED])
def test_a_model_that_its_loader_places_whole_waits_for_nobody(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert lines_of("DL104", tmp_path, text, capsys) == marked(text)
