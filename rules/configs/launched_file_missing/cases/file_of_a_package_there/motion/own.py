"""A file that is a module as well."""
if __package__:
    from .data import batches
else:
    from data import batches

print(batches)
