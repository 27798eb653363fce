"""A training on one GPU, which seeds (FedMRI 65a396c train.py)."""

import random

from sets import Rows


def main():
    random.seed(7)
    print(Rows([1, 2]))


if __name__ == "__main__":
    main()
