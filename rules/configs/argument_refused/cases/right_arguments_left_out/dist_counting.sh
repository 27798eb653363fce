#!/bin/bash
if [ $# -eq 1 ]; then
    python measure.py $1
    exit
fi
torchrun --nproc_per_node=$2 measure.py $1
