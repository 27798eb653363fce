"""How the names of models begin that libraries and repositories on the hub have."""

from __future__ import annotations

from typing import Final

OF_TORCHVISION: Final = (
    "alexnet",
    "convnext",
    "densenet",
    "efficientnet",
    "get_",
    "googlenet",
    "inception",
    "list_models",
    "maxvit",
    "mnasnet",
    "mobilenet",
    "regnet",
    "resnet",
    "resnext",
    "shufflenet",
    "squeezenet",
    "swin",
    "vgg",
    "vit_b_",
    "vit_h_",
    "vit_l_",
    "wide_resnet",
)
"""How the functions of torchvision.models begin: torchvision 0.20, models/__init__.py and what it imports."""
OF_HUBS: Final = {"facebookresearch/xcit": ("xcit",)}
"""How the models of a repository begin that `torch.hub.list` names: xcit 9a7df94 hubconf.py, xcit.py."""
