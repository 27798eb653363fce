import argparse
import os

args = argparse.Namespace(
    hidden_size=8, world_size=int(os.environ["WORLD_SIZE"]), rank=int(os.environ["RANK"])
)
