import os
from functools import partial

import torch
from cyclopts import App
from torch.distributed import destroy_process_group, init_process_group
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp import MixedPrecision, ShardingStrategy
from torch.distributed.fsdp.wrap import transformer_auto_wrap_policy
from transformers import AutoConfig, AutoModelForCausalLM
from transformers.models.llama.modeling_llama import LlamaDecoderLayer

from fineweb import get_dataloader

app = App()


@app.default
def main(path_model: str = "llama.json", lr: float = 4e-4, total_steps: int = 88_000, precision: str = "bf16-mixed"):
    init_process_group("nccl")
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    model = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(path_model))
    model = FSDP(
        model,
        sharding_strategy=ShardingStrategy.FULL_SHARD,
        mixed_precision=MixedPrecision(param_dtype=torch.bfloat16),
        auto_wrap_policy=partial(transformer_auto_wrap_policy, transformer_layer_cls={LlamaDecoderLayer}),
        use_orig_params=True,
        device_id=local_rank,
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
    for step, batch in enumerate(get_dataloader(int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]))):
        loss = model(**batch).loss
        loss.backward()
        model.clip_grad_norm_(1.0)
        optimizer.step()
        optimizer.zero_grad()
        if step == total_steps:
            break
    destroy_process_group()


if __name__ == "__main__":
    app()
