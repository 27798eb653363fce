"""Trains. bergson 3c66bb5 examples/less/eval_warmup_mmlu.py:4, rl-llm-grpo-ppo 9990c2d eval.py:7.

Usage:
    python train.py --config configs/small.yaml
    torchrun --nproc_per_node=4 train.py --config configs/large.yaml  # expect: DL812
"""

import torch.distributed as dist

dist.init_process_group("nccl")
