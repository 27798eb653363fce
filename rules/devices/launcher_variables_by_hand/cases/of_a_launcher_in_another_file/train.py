"""Trains on each rank that a launcher has started."""

import os
from types import SimpleNamespace

from groups import meet_here


def work(config):
    meet_here(config)


def main():
    work(SimpleNamespace(number=int(os.environ["RANK"]), total=int(os.environ["WORLD_SIZE"])))


if __name__ == "__main__":
    main()
