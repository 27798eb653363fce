import os

import torch
import torch.distributed as dist

from removing import remove


def save(engine, folder, step, old, deepspeed):
    if deepspeed:
        engine.save_checkpoint(save_dir=folder, tag=f"step{step}", client_state={"step": step})
        last = os.path.join(folder, old)
        remove(last)
    elif dist.get_rank() == 0:
        torch.save(engine.state_dict(), os.path.join(folder, f"step{step}"))
        remove(os.path.join(folder, old))


def main(engine, loader, folder, deepspeed):
    dist.init_process_group("nccl")
    for step, batch in enumerate(loader):
        engine(batch)
        dist.barrier()
        save(engine, folder, step, f"step{step - 1}", deepspeed)


if __name__ == "__main__":
    main(*make())
