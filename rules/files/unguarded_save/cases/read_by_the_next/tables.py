"""Tables that one function writes and the next one reads."""

import os
import sys

import pandas as pd
import torch.distributed as dist


def merge(folder, level):
    table = pd.read_csv("{}/all.csv".format(folder))
    table.to_csv("{}/{}_merged_table.csv".format(folder, level))  # expect: DL301


def rank(folder, level):
    table = pd.read_csv("{}/{}_merged_table.csv".format(folder, level))
    print(table.describe())


def main(folder):
    dist.init_process_group("gloo")
    merge(folder=folder, level=2)
    rank(folder=folder, level=2)


main(os.path.join(sys.argv[1], "tables"))
