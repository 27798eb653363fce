import argparse

import deepspeed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=1e-4)
    parser = deepspeed.add_config_arguments(parser)
    args = parser.parse_args()  # expect: DL805
    deepspeed.init_distributed()
    return args


main()
