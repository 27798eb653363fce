#!/usr/bin/env bash
CONFIG=$1
GPUS=$2
torchrun --nproc_per_node=$GPUS $(dirname "$0")/fit.py $CONFIG ${@:3}
