import argparse


def get_args():
    parser = argparse.ArgumentParser("tuning", add_help=False)
    parser.add_argument("--image_path")
    parser.add_argument("--steps", type=int)
    parser.add_argument("--local_rank", type=int, default=-1)
    parser.add_argument("--sft", action="store_true")
    args = parser.parse_args()
    return args
