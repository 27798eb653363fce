"""Is told how many ranks the one machine has that it runs on."""

import torch
import torch.distributed as dist


def meet(port, local_rank, ranks):
    torch.cuda.set_device(local_rank)
    print(torch.cuda.device_count(), "GPUs")
    dist.init_process_group(
        "nccl", init_method=f"tcp://127.0.0.1:{port}", world_size=ranks, rank=local_rank
    )
