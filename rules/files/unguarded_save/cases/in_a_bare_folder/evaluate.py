import logging
import sys

import lib.data


def main(path):
    # diffusion-of-thoughts eb19cba evaluation_batch.py:390
    file = logging.FileHandler(path, mode="w")  # expect: DL301
    logging.basicConfig(handlers=[file])
    if lib.ranks.number() == 0:
        logging.info(lib.data.read(path))


if __name__ == "__main__":
    run = lib.ranks.started(main)
    run(sys.argv[1])
