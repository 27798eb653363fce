"""What a plan cannot be made of."""


class ModelSizeError(Exception):
    """The model's size cannot be had; the message says why and what to do."""
