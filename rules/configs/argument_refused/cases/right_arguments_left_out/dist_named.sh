#!/bin/bash
torchrun --nproc_per_node=$2 measure.py $1
