import json
import sys

import torch.multiprocessing as mp
from engine import train as train_model

if __name__ == "__main__":
    with open(sys.argv[1]) as file:
        options = json.load(file)
    mp.spawn(train_model, nprocs=options["gpus"], args=(options,))
