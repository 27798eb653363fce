"""How the models begin that libraries and repositories have by name, where a program takes all of these for choices."""

from __future__ import annotations

from typing import Final

OF_LIBRARIES: Final[dict[str, tuple[str, ...]]] = {
    # torchvision 0.20 models/__init__.py and what it imports.
    "torchvision.models": (
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
    ),
}
"""The functions of a module, by its name."""

OF_HUBS: Final[dict[str, tuple[str, ...]]] = {
    # xcit 9a7df94 hubconf.py, xcit.py.
    "facebookresearch/xcit": ("xcit",),
}
"""What `torch.hub.list` names, by the repository."""
