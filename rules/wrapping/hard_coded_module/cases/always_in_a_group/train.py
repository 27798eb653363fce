"""The only script makes the group, whatever the launch; the class of the model is looked up by a name."""

import argparse
import os

import models
import torch.distributed as dist


def main(args):
    dist.init_process_group("nccl")
    learner = getattr(models, args.kind)(int(os.environ["LOCAL_RANK"]))
    learner.train([])
    learner.evaluate()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--kind", default="Learner")
    main(parser.parse_args())
