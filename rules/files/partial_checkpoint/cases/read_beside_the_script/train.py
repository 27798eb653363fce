import torch.distributed as dist
from toolbox.nets import net
from toolbox.training import train

dist.init_process_group("nccl")
train(net(), "net.pth")
