import argparse

args = argparse.Namespace(hidden_size=8, model_parallel_size=1, world_size=1, rank=0)
