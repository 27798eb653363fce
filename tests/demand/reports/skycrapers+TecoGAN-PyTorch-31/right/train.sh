#!/usr/bin/env bash
gpus=${1:-8}
python -m torch.distributed.run --nproc_per_node=$gpus --master_port=4321 main.py --launcher pytorch
