import argparse
import os

import torch
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, RandomSampler, SequentialSampler
from torch.utils.data.distributed import DistributedSampler
from transformers import AdamW, AutoModelForSequenceClassification, AutoTokenizer

from glue import features_of


def load_and_cache_examples(args, tokenizer, evaluate=False):
    if args.local_rank not in [-1, 0]:
        torch.distributed.barrier()
    cached = os.path.join(args.data_dir, "cached_dev" if evaluate else "cached_train")
    if os.path.exists(cached):
        features = torch.load(cached)
    else:
        features = features_of(args.data_dir, tokenizer)
        if args.local_rank in [-1, 0]:
            torch.save(features, cached)
    if args.local_rank == 0:
        torch.distributed.barrier()
    return features


def make_eval_loader(args, tokenizer):
    dataset = load_and_cache_examples(args, tokenizer, evaluate=True)
    return DataLoader(dataset, sampler=SequentialSampler(dataset), batch_size=args.batch)


def evaluate(args, model, tokenizer):
    results, correct, seen = {}, 0, 0
    for batch in make_eval_loader(args, tokenizer):
        with torch.no_grad():
            logits = model(**batch).logits
        correct += (logits.argmax(-1) == batch["labels"]).sum().item()
        seen += len(logits)
    results["acc"] = correct / seen
    return results


def train(args, dataset, model):
    sampler = RandomSampler(dataset) if args.local_rank == -1 else DistributedSampler(dataset)
    loader = DataLoader(dataset, sampler=sampler, batch_size=args.batch)
    optimizer = AdamW(model.parameters(), lr=5e-5)
    if args.local_rank != -1:
        model = DistributedDataParallel(model, device_ids=[args.local_rank])
    for epoch in range(args.epochs):
        if args.local_rank != -1:
            sampler.set_epoch(epoch)
        for batch in loader:
            loss = model(**batch).loss
            loss.backward()
            optimizer.step()
            model.zero_grad()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data_dir", required=True)
    parser.add_argument("--model", default="bert-base-uncased")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--do_eval", action="store_true")
    parser.add_argument("--local_rank", "--local-rank", type=int, default=-1)
    args = parser.parse_args()
    if args.local_rank != -1:
        torch.cuda.set_device(args.local_rank)
        torch.distributed.init_process_group(backend="nccl")
    tokenizer = AutoTokenizer.from_pretrained(args.model)
    model = AutoModelForSequenceClassification.from_pretrained(args.model).cuda()
    train(args, load_and_cache_examples(args, tokenizer), model)
    if args.do_eval and args.local_rank in [-1, 0]:
        print(evaluate(args, model, tokenizer))


if __name__ == "__main__":
    main()
