import os
from functools import partial

import hydra
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from peft import LoraConfig, get_peft_model
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp.wrap import transformer_auto_wrap_policy
from transformers import AutoModelForCausalLM
from transformers.models.llama.modeling_llama import LlamaDecoderLayer

from dpo import dpo_loss, preference_batches


def worker_main(rank, world_size, config):
    os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = "localhost", "12355"
    dist.init_process_group("nccl", rank=rank, world_size=world_size)
    torch.cuda.set_device(rank)
    policy = AutoModelForCausalLM.from_pretrained(config.model.name, torch_dtype=torch.bfloat16)
    policy = get_peft_model(policy, LoraConfig(r=16, task_type="CAUSAL_LM"), autocast_adapter_dtype=True)
    wrap = partial(transformer_auto_wrap_policy, transformer_layer_cls={LlamaDecoderLayer})
    policy = FSDP(policy, auto_wrap_policy=wrap, device_id=rank, use_orig_params=True)
    optimizer = torch.optim.RMSprop(policy.parameters(), lr=config.lr)
    for batch in preference_batches(config, rank, world_size):
        loss = dpo_loss(policy, batch)
        loss.backward()
        policy.clip_grad_norm_(10.0)
        optimizer.step()
        optimizer.zero_grad()


@hydra.main(version_base=None, config_path="config", config_name="config")
def main(config):
    world_size = torch.cuda.device_count()
    mp.spawn(worker_main, nprocs=world_size, args=(world_size, config), join=True)


if __name__ == "__main__":
    main()
