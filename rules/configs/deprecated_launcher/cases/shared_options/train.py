import torch
from options.base import BaseOptions

options = BaseOptions().parse()
net = torch.nn.DataParallel(torch.nn.Linear(2, 2))
print(net(torch.zeros(4, 2)).mean(), options.fp16)
