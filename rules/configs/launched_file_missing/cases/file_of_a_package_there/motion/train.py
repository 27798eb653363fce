"""Training."""
from .data import batches

print(batches)
