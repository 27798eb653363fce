"""No group is made here, and nothing asks for the rank, nor is there a test of `__name__`:
FlagAI 9a885f3 examples/Aquila/aquila_pretrain.py:102."""

import numpy
from tokens import Tokens
from torch.utils.data.distributed import DistributedSampler

tokens = Tokens("corpus")
numpy.save("order.npy", tokens.order)  # expect: DL301
print(DistributedSampler(tokens, num_replicas=2, rank=0))
