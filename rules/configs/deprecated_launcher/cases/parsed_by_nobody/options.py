import argparse


def read_options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--local_rank", type=int)  # expect: DL805
    parser.add_argument("--fp16", action="store_true")
    return parser.parse_args()
