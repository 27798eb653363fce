import torch

if torch._six.PY3:
    import importlib

    def import_file(name):
        return importlib.import_module(name)
