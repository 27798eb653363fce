import argparse

from groups import set_up

parser = argparse.ArgumentParser()
parser.add_argument("--local_rank", type=int)
parser.add_argument("--world_size", type=int)
args = parser.parse_args()
set_up(args.local_rank, args.world_size)
