"""Goes wrong on 2 ranks: hangs.
Fix: safe
Requires: transformers
Timeout: 200

The rank with the longer prompt is done first; the other waits for its parameters in the next forward.
"""

from datetime import timedelta

import torch
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard
from transformers import LlamaConfig, LlamaForCausalLM

dist.init_process_group("gloo", timeout=timedelta(seconds=60))
config = LlamaConfig(
    vocab_size=8,
    hidden_size=8,
    intermediate_size=8,
    num_hidden_layers=2,
    num_attention_heads=1,
    eos_token_id=None,
)
torch.manual_seed(0)
model = LlamaForCausalLM(config)
for layer in model.model.layers:
    fully_shard(layer)
fully_shard(model)
prompt = torch.ones(1, 2 + 2 * dist.get_rank(), dtype=torch.long)
text = model.generate(prompt, max_length=6, do_sample=False, synced_gpus=False)  # expect: DL110
assert text.shape == (1, 6), text.shape
dist.destroy_process_group()
