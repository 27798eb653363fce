import argparse
import os

import deepspeed
import torch
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer
from transformers.integrations import HfDeepSpeedConfig


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="t5-11b")
    parser.add_argument("--local_rank", "--local-rank", type=int, default=0)
    parser.add_argument("--inputs", default="articles.txt")
    args = parser.parse_args()
    world_size = int(os.getenv("WORLD_SIZE", "1"))
    torch.cuda.set_device(args.local_rank)
    deepspeed.init_distributed()
    ds_config = {
        "bf16": {"enabled": True},
        "zero_optimization": {"stage": 3, "offload_param": {"device": "cpu"}},
        "train_batch_size": world_size,
        "train_micro_batch_size_per_gpu": 1,
    }
    dschf = HfDeepSpeedConfig(ds_config)
    model = AutoModelForSeq2SeqLM.from_pretrained(args.model)
    engine = deepspeed.initialize(model=model, config_params=ds_config)[0]
    engine.module.eval()
    tokenizer = AutoTokenizer.from_pretrained(args.model)
    with open(args.inputs) as file:
        lines = file.read().splitlines()
    rank = torch.distributed.get_rank()
    inputs = tokenizer.encode(lines[rank], return_tensors="pt").to(args.local_rank)
    with torch.no_grad():
        outputs = engine.module.generate(inputs, max_length=200)
    print(f"rank{rank}: {tokenizer.decode(outputs[0], skip_special_tokens=True)}")


if __name__ == "__main__":
    main()
