# SwissArmyTransformer examples/vit/transform_param.py:79: converts weights, on one process.
import torch
from saving import save_checkpoint
from settings import args

model = torch.nn.Linear(8, 8)
save_checkpoint(model, args)
breakpoint()
