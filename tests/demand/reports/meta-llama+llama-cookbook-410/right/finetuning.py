import os
from types import SimpleNamespace

import torch
import torch.distributed as dist
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from transformers import LlamaForCausalLM

from llama_data import get_dataloader
from train_utils import train


def main():
    dist.init_process_group("nccl")
    local_rank, rank = int(os.environ["LOCAL_RANK"]), int(os.environ["RANK"])
    torch.cuda.set_device(local_rank)
    config = SimpleNamespace(model_name="llama", num_epochs=3, enable_fsdp=True, lr=1e-4,
                             dist_checkpoint_root_folder="ckpt", dist_checkpoint_folder="fine-tuned")
    model = FSDP(LlamaForCausalLM.from_pretrained("meta-llama/Llama-2-7b-hf"), device_id=local_rank)
    optimizer = torch.optim.AdamW(model.parameters(), lr=config.lr)
    loader, sampler = get_dataloader(rank, dist.get_world_size())
    train(model, loader, sampler, optimizer, config, SimpleNamespace(mixed_precision=True), local_rank, rank)


if __name__ == "__main__":
    main()
