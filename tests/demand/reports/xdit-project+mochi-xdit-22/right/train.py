import os

import ray
import torch
import torch.distributed as dist

from mochi import DitModel, prompt_batches


@ray.remote(num_gpus=1)
class MultiGPUContext:
    def __init__(self, rank, world_size):
        os.environ.setdefault("MASTER_ADDR", "localhost")
        os.environ.setdefault("MASTER_PORT", "29500")
        os.environ["RANK"] = str(rank)
        os.environ["WORLD_SIZE"] = str(world_size)
        torch.cuda.set_device(0)
        dist.init_process_group("nccl", rank=rank, world_size=world_size)
        self.model = DitModel().cuda()

    def run(self, prompt):
        with torch.no_grad():
            out = self.model(prompt)
        dist.all_reduce(out)
        return out.cpu()


def main():
    ray.init()
    world_size = int(os.environ.get("NUM_GPUS", 2))
    workers = [MultiGPUContext.remote(i, world_size) for i in range(world_size)]
    for prompt in prompt_batches():
        ray.get([w.run.remote(prompt) for w in workers])


if __name__ == "__main__":
    main()
