import argparse

import deepspeed
import toolkit


def main():
    parser = argparse.ArgumentParser()
    toolkit.add_training_arguments(parser)
    args = parser.parse_args()
    deepspeed.init_distributed()
    return args


main()
