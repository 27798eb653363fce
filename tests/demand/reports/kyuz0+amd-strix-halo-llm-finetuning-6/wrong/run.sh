#!/bin/bash
torchrun --nnodes 2 --nproc_per_node 1 --rdzv_backend c10d --rdzv_endpoint 192.168.100.1:29500 train.py
