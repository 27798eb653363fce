import argparse

import torch
import torch.distributed.nn.functional as dist_fn
import torch.nn.functional as F
from accelerate import Accelerator
from transformers import AutoModel

from pairs import pair_loader


def pooled(model, batch):
    return F.normalize(model(**batch).last_hidden_state[:, 0], dim=-1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="bert-base-uncased")
    parser.add_argument("--temperature", type=float, default=0.05)
    args = parser.parse_args()
    accelerator = Accelerator()
    model = AutoModel.from_pretrained(args.model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-5)
    loader = pair_loader(args.model)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for query, passage in loader:
        q, p = pooled(model, query), pooled(model, passage)
        all_q = torch.cat(dist_fn.all_gather(q))
        all_p = torch.cat(dist_fn.all_gather(p))
        scores = all_q @ all_p.t() / args.temperature
        labels = torch.arange(len(scores), device=scores.device)
        loss = F.cross_entropy(scores, labels)
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()


if __name__ == "__main__":
    main()
