import torch
from torch import nn


class LoRAModule(nn.Module):
    def __init__(self, org, rank):
        super().__init__()
        self.down = nn.Linear(org.in_features, rank, bias=False)
        self.up = nn.Linear(rank, org.out_features, bias=False)
        self.org = [org]

    def apply_to(self):
        self.org_forward = self.org[0].forward
        self.org[0].forward = self.forward

    def forward(self, x):
        return self.org_forward(x) + self.up(self.down(x))


class LoRANetwork(nn.Module):
    def __init__(self, unet, rank):
        super().__init__()
        self.loras = nn.ModuleList(LoRAModule(m, rank) for m in unet.modules() if isinstance(m, nn.Linear))

    def apply_to(self):
        for lora in self.loras:
            lora.apply_to()

    def reduce_gradients(self, accelerator):
        for parameter in self.parameters():
            if parameter.grad is not None:
                parameter.grad = accelerator.reduce(parameter.grad, reduction="mean")
