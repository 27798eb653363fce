import os

import pytorch_lightning as pl
import torch.distributed as dist

trainer = pl.Trainer(strategy="ddp")
if dist.is_initialized():
    print("machine", os.environ["NODE_RANK"])
