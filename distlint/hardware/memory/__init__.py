"""Memory of a training run per GPU: bytes per parameter by strategy, activations, what fits."""
