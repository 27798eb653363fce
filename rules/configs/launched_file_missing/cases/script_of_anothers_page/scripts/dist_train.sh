#!/bin/bash
set -x
NGPUS=$1
python -m torch.distributed.launch --use_env --nproc_per_node=${NGPUS} train.py ${@:2}
