import argparse

import torch.distributed as dist


def valid(model, loader):
    model.eval()
    return [dist.all_reduce(model(batch)) for batch in loader]


def main():
    # insightface 7fadd42 parsing/dml_csr/test.py:65
    parser = argparse.ArgumentParser()
    parser.add_argument("--data")
    parser.add_argument("--local_rank", type=int, default=0)
    return parser.parse_args().data


if __name__ == "__main__":
    main()
