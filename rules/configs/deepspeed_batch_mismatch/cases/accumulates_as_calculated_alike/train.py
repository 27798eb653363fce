import argparse

from accelerate import Accelerator

parser = argparse.ArgumentParser()
parser.add_argument("--gradient_accumulation_steps", type=int, default=1)
args = parser.parse_args()
accelerator = Accelerator(
    gradient_accumulation_steps=args.gradient_accumulation_steps
)
