"""Goes wrong on 2 ranks: wrong result.
Fix: unsafe

The file says `cuda:0`, and that is where the tensors go, or would go.
"""

from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn

dist.init_process_group("gloo", timeout=timedelta(seconds=60))
saving = dist.get_rank() == 0
# What a rank with a GPU writes beside its tensors, so that this can be shown without one.
torch.serialization.register_package(
    1, lambda storage: "cuda:0" if saving else None, lambda storage, location: None
)
if saving:
    torch.save({"weight": torch.zeros(2, 2), "bias": torch.zeros(2)}, "model.pt")
    saving = False


def resume(model: nn.Module, path: str) -> None:
    dist.barrier()
    try:
        state = torch.load(path)  # expect: DL505
    except RuntimeError as error:
        raise AssertionError("loads onto cuda:0, which this machine has not") from error
    assert all(tensor.device.type == "cpu" for tensor in state.values()), state
    model.load_state_dict(state)


resume(nn.Linear(2, 2), "model.pt")
dist.barrier()
dist.destroy_process_group()
