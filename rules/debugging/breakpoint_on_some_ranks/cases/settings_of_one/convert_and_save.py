# SwissArmyTransformer 63dc23a examples/chatglm2/transform_param.py:89: the library asks for ranks.
import argparse

import torch
from saving import save_checkpoint

args = argparse.Namespace(save="model.pt", world_size=1, rank=0)
model = torch.nn.Linear(8, 8)
save_checkpoint(model, args)
breakpoint()
