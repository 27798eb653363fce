import argparse


class Options:
    def parse(self):
        parser = argparse.ArgumentParser()
        parser.add_argument("--gpu", type=int, nargs="+", default=[0])
        parser.add_argument("--lr", type=float, default=1e-4)
        parser.add_argument("--epochs", type=int, default=50)
        return parser.parse_args()
