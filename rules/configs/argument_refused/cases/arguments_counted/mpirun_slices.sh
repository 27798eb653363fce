#!/bin/bash
if [ "$#" -lt 5 ]; then echo "nodes, GPUs, model, slices, steps"; exit -1; fi
if [[ $# -gt 6 ]]; then
    echo "too many arguments: $#"
    exit 1
fi
mpirun -np $1 python train.py --model $3 --slices $4 --steps $5
