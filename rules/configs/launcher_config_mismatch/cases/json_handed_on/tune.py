import argparse

import torch.distributed as dist
from transformers import Trainer, TrainingArguments


def main(model, dataset):
    parser = argparse.ArgumentParser()
    parser.add_argument("--deepspeed_config", default=None)
    parser.add_argument("--out", default="runs")
    args = parser.parse_args()
    settings = TrainingArguments(args.out, per_device_train_batch_size=2, deepspeed=args.deepspeed_config)
    Trainer(model, settings, train_dataset=dataset).train()
    print(dist.get_rank())
