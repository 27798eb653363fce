#!/bin/bash
export SCRIPT=index_tokens.py
accelerate launch --config_file two.yaml classify.py --epochs 3
torchrun --nproc_per_node $GPUS --nnodes $NODES $SCRIPT
deepspeed answer.py
