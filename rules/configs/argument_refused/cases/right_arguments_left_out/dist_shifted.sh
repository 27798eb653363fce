#!/bin/bash
start() {
    torchrun --nproc_per_node=$2 measure.py $1
}
start $1 8
