import argparse

import torch
import torch.distributed as dist
from torch.nn.parallel.distributed import DistributedDataParallel as DDP

import dist_util
from diffuseq import TransformerNetModel, diffusion_loss
from text_datasets import load_data_text


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data_dir", default="datasets/QQP")
    parser.add_argument("--batch_size", type=int, default=128)
    parser.add_argument("--learning_steps", type=int, default=50_000)
    args = parser.parse_args()
    dist_util.setup_dist()
    data = load_data_text(args.batch_size, args.data_dir, split="train")
    model = TransformerNetModel().to(dist_util.dev())
    model = DDP(model, device_ids=[dist_util.dev()], broadcast_buffers=False)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for step in range(args.learning_steps):
        batch, cond = next(data)
        loss = diffusion_loss(model, batch.to(dist_util.dev()), cond)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 1000 == 0 and dist.get_rank() == 0:
            print(step, loss.item())


if __name__ == "__main__":
    main()
