import os

import torch
import torch.distributed as dist

launched = {"world_size": int(os.environ["WORLD_SIZE"]), "rank": int(os.environ["RANK"])}
settings = {"hidden_size": 8, "world_size": 1, "rank": 0, **launched}

dist.init_process_group("gloo", world_size=settings["world_size"], rank=settings["rank"])
model = torch.nn.Linear(settings["hidden_size"], 2)
torch.save(model.state_dict(), "output.pt")  # expect: DL301
