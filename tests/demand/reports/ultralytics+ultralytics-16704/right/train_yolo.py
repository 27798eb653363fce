import argparse
import subprocess
import sys

import torch
import wandb


def launch(args):
    """Start one child for each GPU; each child trains with DDP."""
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc_per_node", str(len(args.device.split(",")))]
    subprocess.run([*command, "ddp_child.py", "--data", args.data, "--project", args.project], check=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default="coco8.yaml")
    parser.add_argument("--project", default="yolo")
    parser.add_argument("--device", default="0,1")
    args = parser.parse_args()
    wandb.init(project=args.project, config=vars(args))
    launch(args)
    wandb.finish()


if __name__ == "__main__":
    main()
