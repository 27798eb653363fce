import argparse

import oneflow as flow

parser = argparse.ArgumentParser()
parser.add_argument("--local_rank", type=int, default=0)

if __name__ == "__main__":
    args = parser.parse_args()
    print(flow.env.get_rank(), flow.env.get_world_size(), args.local_rank)
