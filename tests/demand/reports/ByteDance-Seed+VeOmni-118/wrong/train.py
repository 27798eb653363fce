import argparse
import os

import torch
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard
from transformers import AutoConfig, AutoModelForCausalLM

from weights import load_weights
from tokens import token_loader


def build_parallelize_model(config, weights_path=None):
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config)
    for layer in model.model.layers:
        fully_shard(layer)
    fully_shard(model)
    model.to_empty(device="cuda")
    if weights_path is not None:
        load_weights(model, weights_path)
    return model


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", default="Qwen/Qwen2.5-7B")
    parser.add_argument("--model_path", default="Qwen/Qwen2.5-7B")
    args = parser.parse_args()
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    model = build_parallelize_model(AutoConfig.from_pretrained(args.config))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    for batch in token_loader(dist.get_rank(), dist.get_world_size()):
        loss = model(**batch).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


if __name__ == "__main__":
    main()
