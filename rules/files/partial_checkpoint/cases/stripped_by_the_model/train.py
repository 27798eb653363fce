import torch.distributed as dist

from model.make_model import Net
from processor.saving import train

dist.init_process_group("nccl")
train(Net(), "net.pth")
