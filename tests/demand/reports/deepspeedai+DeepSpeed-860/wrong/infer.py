import argparse
import json

import deepspeed
import torch
import torch.distributed as dist
from transformers import GPT2Config, GPT2LMHeadModel, GPT2Tokenizer


def chunks(samples, rank, world):
    return samples[rank::world]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--samples", default="samples.json")
    parser.add_argument("--local_rank", "--local-rank", type=int, default=0)
    parser = deepspeed.add_config_arguments(parser)
    args = parser.parse_args()
    deepspeed.init_distributed()
    torch.cuda.set_device(args.local_rank)
    with deepspeed.zero.Init():
        net = GPT2LMHeadModel(GPT2Config(n_layer=48, n_embd=1600))
    model, _, _, _ = deepspeed.initialize(args=args, model=net, model_parameters=net.parameters())
    tokenizer = GPT2Tokenizer.from_pretrained("gpt2-xl")
    with open(args.samples) as file:
        samples = json.load(file)
    model.eval()
    scores = []
    for text in chunks(samples, dist.get_rank(), dist.get_world_size()):
        ids = tokenizer(text, return_tensors="pt").input_ids.cuda()
        with torch.no_grad():
            scores.append(model(ids, labels=ids).loss.item())
    print(dist.get_rank(), sum(scores) / len(scores))


if __name__ == "__main__":
    main()
