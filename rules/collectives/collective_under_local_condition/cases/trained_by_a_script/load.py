"""The same with a model that has trainable parameters: its forward is in DDP."""

import accelerate
import torch

if __name__ == "__main__":
    layer = torch.nn.Linear(8, 8)
    accelerator = accelerate.Accelerator()
    layer = accelerator.prepare_model(layer)
    data = torch.randn(4, 8).to(accelerator.device)
    for _ in range(100):
        accelerator.wait_for_everyone()
        if torch.cuda.utilization() < 2:  # expect: DL103
            layer(data)
