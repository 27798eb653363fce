import torch
from torch import nn


class EMATracker:
    """Shadow weights by parameter name."""

    def __init__(self, model: nn.Module, decay: float):
        self.decay = decay
        self.shadow = {name: p.detach().clone() for name, p in model.named_parameters()}

    @torch.no_grad()
    def update(self, model: nn.Module):
        for name, p in model.named_parameters():
            self.shadow[name].lerp_(p.detach(), 1 - self.decay)
