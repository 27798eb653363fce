"""The installed distributions that a training run loads, and what their metadata requires."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, distribution

from distlint.hardware.doctor.machine import Options, Package

NAMES = (
    "torch",
    "torchvision",
    "torchaudio",
    "triton",
    "numpy",
    "accelerate",
    "transformers",
    "datasets",
    "peft",
    "trl",
    "diffusers",
    "deepspeed",
    "bitsandbytes",
    "flash-attn",
    "xformers",
    "lightning",
    "pytorch-lightning",
    "huggingface-hub",
    "tokenizers",
    "safetensors",
)


def look(options: Options) -> tuple[Package, ...]:
    """Those that are installed; nothing is imported."""
    found = []
    for name in NAMES:
        try:
            installed = distribution(name)
        except PackageNotFoundError:
            continue
        requires = tuple(
            line for line in installed.requires or () if "extra ==" not in line.replace("'", '"')
        )
        found.append(Package(name, installed.version, requires))
    return tuple(found)
