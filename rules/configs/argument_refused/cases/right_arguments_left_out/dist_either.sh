#!/bin/bash
if [ "$2" ]; then
    torchrun --nproc_per_node=$2 measure.py $1
else
    torchrun --nproc_per_node=8 measure.py $1
fi
