# SwissArmyTransformer 63dc23a examples/cait/transform_param.py:122: one process, whatever starts it.
import torch
from settings import args

torch.distributed.init_process_group("nccl", world_size=args.world_size, rank=args.rank)
model = torch.nn.Linear(args.hidden_size, args.hidden_size)
torch.save(model.state_dict(), "output.pt")
