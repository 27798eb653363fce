#!/bin/bash
torchrun --nproc_per_node=8 --rdzv_id $2 measure.py $1
