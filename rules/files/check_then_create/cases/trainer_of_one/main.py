"""One process makes its folder and trains."""

import os

from settings import read
from trainer import PlainTrainer


def main():
    args = read()
    os.makedirs(args.out)
    PlainTrainer(args).process()


if __name__ == "__main__":
    main()
