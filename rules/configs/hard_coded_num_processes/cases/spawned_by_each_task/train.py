import torch
import torch.multiprocessing as mp


def work(gpu, gpus):
    torch.distributed.init_process_group("nccl", rank=gpu, world_size=gpus)


if __name__ == "__main__":
    gpus = torch.cuda.device_count()
    print("spawning")
    mp.spawn(work, nprocs=gpus, args=(gpus,))
