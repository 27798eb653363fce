"""Keeps a GPU busy where it has nothing else to do: accelerate wraps no model without trainable parameters.

DDT 1d1b4d2 tools/mm.py:18
"""

import accelerate
import torch

if __name__ == "__main__":
    layer = torch.nn.Linear(8, 8)
    for weight in layer.parameters():
        weight.requires_grad = False
    accelerator = accelerate.Accelerator()
    layer = accelerator.prepare_model(layer)
    data = torch.randn(4, 8).to(accelerator.device)
    for _ in range(100):
        accelerator.wait_for_everyone()
        if torch.cuda.utilization() < 2:
            layer(data)
