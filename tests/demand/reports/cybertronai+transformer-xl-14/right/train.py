import argparse
import math
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from lm import MemTransformerLM, get_lm_corpus


def evaluate(model, eval_iter):
    model.eval()
    total_len, total_loss = 0, 0.0
    with torch.no_grad():
        for data, target, seq_len in eval_iter:
            loss = model(data, target)
            total_loss += seq_len * loss.mean().item()
            total_len += seq_len
    model.train()
    totals = torch.tensor([total_loss, total_len], device="cuda")
    dist.all_reduce(totals)
    return (totals[0] / totals[1]).item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default="data/wikitext-103")
    parser.add_argument("--work_dir", default="LM-TFM")
    parser.add_argument("--max_step", type=int, default=100_000)
    parser.add_argument("--eval_interval", type=int, default=4000)
    args = parser.parse_args()
    dist.init_process_group("nccl")
    rank, world = dist.get_rank(), dist.get_world_size()
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    corpus = get_lm_corpus(args.data)
    tr_iter = corpus.get_dist_iterator("train", rank, world)
    va_iter = corpus.get_dist_iterator("valid", rank, world)
    model = DistributedDataParallel(MemTransformerLM().cuda(), device_ids=[local_rank])
    optimizer = torch.optim.Adam(model.parameters(), lr=2.5e-4)
    best_val_loss = None
    for step, (data, target, seq_len) in enumerate(tr_iter, 1):
        loss = model(data, target).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % args.eval_interval == 0:
            val_loss = evaluate(model, va_iter)
            if rank == 0:
                print(f"valid ppl {math.exp(val_loss):.3f}")
                if not best_val_loss or val_loss < best_val_loss:
                    torch.save(model.module.state_dict(), os.path.join(args.work_dir, "model-best.pt"))
                    best_val_loss = val_loss
        if step == args.max_step:
            break


if __name__ == "__main__":
    main()
