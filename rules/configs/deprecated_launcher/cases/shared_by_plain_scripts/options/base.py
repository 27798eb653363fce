import argparse


class BaseOptions:
    def parse(self):
        parser = argparse.ArgumentParser()
        parser.add_argument("--local_rank", type=int, default=0)
        parser.add_argument("--fp16", action="store_true")
        return parser.parse_args()
