# pix2pixHD 14b3b3c options/base_options.py:22: an error, as for a script that declares it.
import argparse


class BaseOptions:
    def parse(self):
        parser = argparse.ArgumentParser()
        parser.add_argument("--local_rank", type=int, default=0)  # expect: DL805
        parser.add_argument("--fp16", action="store_true")
        return parser.parse_args()
