"""What `distlint run` costs: 50 training steps of a small HF model, with it and without, in turn.

    python bench/sanitizer_overhead.py [--steps 50] [--rounds 3] [--nproc 2] [--limit 1.5]

DDP and FSDP2 on the CPU (gloo). "Without" is torchrun; "with" is `distlint run`. Both run this file;
rank 0 times the steps alone, not the imports. The rounds alternate, and the medians are compared, so
that a busy machine weighs on both. Exit status 1 where a ratio is over the limit.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from typing import Any

STRATEGIES = ("ddp", "fsdp2")


def train(strategy: str, steps: int) -> None:
    """Train on this rank; rank 0 prints the seconds of the steps after two that warm up."""
    import torch
    import torch.distributed as dist
    from torch.distributed.fsdp import fully_shard
    from torch.nn.parallel import DistributedDataParallel
    from transformers import LlamaConfig, LlamaForCausalLM

    dist.init_process_group("gloo")
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=1000,
        hidden_size=128,
        intermediate_size=256,
        num_hidden_layers=4,
        num_attention_heads=4,
        num_key_value_heads=4,
    )
    model: Any = LlamaForCausalLM(config)
    if strategy == "fsdp2":
        for layer in model.model.layers:
            fully_shard(layer)
        fully_shard(model)
    else:
        model = DistributedDataParallel(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    torch.manual_seed(1 + dist.get_rank())
    began = 0.0
    for step in range(steps + 2):
        if step == 2:
            dist.barrier()
            began = time.perf_counter()
        tokens = torch.randint(0, 1000, (4, 64))
        loss = model(input_ids=tokens, labels=tokens).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
    dist.barrier()
    if dist.get_rank() == 0:
        print(f"seconds {time.perf_counter() - began:.6f}", flush=True)
    dist.destroy_process_group()


def measure(sanitizer: bool, strategy: str, steps: int, nproc: int) -> float:
    """Seconds that rank 0 of one run has printed."""
    own = [__file__, "--train", strategy, "--steps", str(steps)]
    if sanitizer:
        command = [sys.executable, "-m", "distlint", "run", "-n", str(nproc), *own]
    else:
        launcher = ["torch.distributed.run", "--standalone", "--nproc-per-node", str(nproc)]
        command = [sys.executable, "-m", *launcher, *own]
    env = {"GLOO_SOCKET_IFNAME": "lo", **os.environ} if sys.platform == "linux" else None
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    for line in done.stdout.splitlines():
        # `distlint run` puts the rank in front.
        if line.removeprefix("[rank 0] ").startswith("seconds "):
            return float(line.split()[-1])
    sys.exit(f"{' '.join(command)} ended with status {done.returncode}:\n{done.stderr}")


def main() -> None:
    """Measure both strategies and print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--train", choices=STRATEGIES, help=argparse.SUPPRESS)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--nproc", type=int, default=2)
    parser.add_argument("--limit", type=float, default=1.5)
    arguments = parser.parse_args()
    if arguments.train:
        train(arguments.train, arguments.steps)
        return
    over = False
    print(
        f"{'':8}{'without':>12}{'with':>12}{'ratio':>8}   (s for {arguments.steps} steps, median)"
    )
    for strategy in STRATEGIES:
        seconds: dict[bool, list[float]] = {False: [], True: []}
        for _ in range(arguments.rounds):
            for sanitizer in (False, True):
                one = measure(sanitizer, strategy, arguments.steps, arguments.nproc)
                seconds[sanitizer].append(one)
        without, with_it = (statistics.median(seconds[key]) for key in (False, True))
        ratio = with_it / without
        over |= ratio > arguments.limit
        print(f"{strategy:8}{without:12.3f}{with_it:12.3f}{ratio:8.2f}")
    sys.exit(1 if over else 0)


if __name__ == "__main__":
    main()
