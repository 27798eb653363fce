import importlib


def made(section):
    module, _, name = section["target"].rpartition(".")
    return getattr(importlib.import_module(module), name)(**section["params"])
