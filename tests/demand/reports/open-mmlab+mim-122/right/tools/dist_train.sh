#!/usr/bin/env bash
CONFIG=$1
GPUS=$2
PORT=${PORT:-29500}
torchrun --nproc_per_node=$GPUS --master_port=$PORT $(dirname "$0")/train.py -opt $CONFIG --launcher pytorch
