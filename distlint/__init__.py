"""distlint: finds and repairs what breaks only when several processes run PyTorch training code."""

__version__ = "0.1.0"
