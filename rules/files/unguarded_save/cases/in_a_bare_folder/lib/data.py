import lib.ranks


def read(path):
    return [] if lib.ranks.number() else open(path).readlines()
