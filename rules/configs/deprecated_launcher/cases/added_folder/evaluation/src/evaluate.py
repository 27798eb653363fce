import argparse
import os
import sys

sys.path.append(os.path.join(os.path.abspath(__file__).rsplit("/", 3)[0], "library"))

from tools import misc

parser = argparse.ArgumentParser()
parser.add_argument("--local_rank", type=int, default=-1)  # expect: DL805
args = parser.parse_args()
misc.start(args)
