"""A file that is a module as well."""
try:
    from .data import batches
except ImportError:
    from data import batches

print(batches)
