import torch
import torch.distributed as dist
from scores import Scores

if __name__ == "__main__":
    dist.init_process_group("nccl")
    print(Scores(torch.nn.Linear(2, 2)).read("lines.txt"))
