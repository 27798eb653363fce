"""Starts the ranks, and trains on each."""

from copy import copy
from multiprocessing import Process

from groups import meet_here


def work(config):
    meet_here(config)


def main(config):
    ranks = []
    for number in range(config.total):
        own = copy(config)
        own.number = number
        ranks.append(Process(target=work, args=(own,)))
        ranks[-1].start()
    for each in ranks:
        each.join()
