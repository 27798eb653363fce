#!/bin/bash
cd /code
python3 -m torch.distributed.run --standalone --nproc_per_node gpu main.py $@  # expect: DL810
