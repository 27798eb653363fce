import argparse
import os
from types import SimpleNamespace


def log_into(folder):
    if not os.path.exists(folder):
        os.makedirs(folder)
    return os.path.join(folder, "lines.log")


def settings():
    args = argparse.Namespace(name="small", seed=3)
    folder = os.path.join("logs", args.name)
    if not os.path.exists(folder):
        os.makedirs(folder)
    found = SimpleNamespace(**vars(args))
    found.folder = folder
    return found


def settings_of_two():
    args = argparse.Namespace(name="large")
    folder = os.path.join("logs", args.name)
    if not os.path.exists(folder):
        os.makedirs(folder)
    found = SimpleNamespace()
    found.folder = folder
    return found, args
