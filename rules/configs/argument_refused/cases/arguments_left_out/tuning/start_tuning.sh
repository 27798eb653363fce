#!/bin/bash
MACHINES=$(wc -l < hosts.txt)
MACHINE=$1
export START="accelerate launch \
    --num_processes $((MACHINES * 8)) \
    --machine_rank $MACHINE \
    --num_machines $MACHINES \
    "
$START tune.py --lr 1e-5
