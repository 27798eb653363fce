import os

import fire
import torch
import torch.distributed as dist
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from transformers import LlamaForCausalLM

from llama_data import get_dataloader


def setup():
    dist.init_process_group("nccl")


def clear_gpu_cache(rank=None):
    if rank == 0:
        print("Clearing GPU cache for all ranks")
    torch.cuda.empty_cache()


def main(model_name: str = "meta-llama/Llama-2-7b-hf", lr: float = 1e-4, num_epochs: int = 1, enable_fsdp: bool = True):
    if enable_fsdp:
        setup()
        local_rank = int(os.environ["LOCAL_RANK"])
        rank = int(os.environ["RANK"])
        world_size = int(os.environ["WORLD_SIZE"])
    if dist.is_initialized():
        torch.cuda.set_device(rank)
        clear_gpu_cache(local_rank)
    model = FSDP(LlamaForCausalLM.from_pretrained(model_name), device_id=torch.cuda.current_device())
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
    loader, sampler = get_dataloader(rank, world_size)
    for epoch in range(num_epochs):
        sampler.set_epoch(epoch)
        for batch in loader:
            loss = model(**{k: v.to(local_rank) for k, v in batch.items()}).loss
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()


if __name__ == "__main__":
    fire.Fire(main)
