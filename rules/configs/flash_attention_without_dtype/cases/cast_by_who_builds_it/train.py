import torch

from parts import Reader

model = Reader("small").to(torch.bfloat16).cuda()
