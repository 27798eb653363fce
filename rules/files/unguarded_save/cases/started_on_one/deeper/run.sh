#!/bin/bash
torchrun --nproc_per_node 8 by_hand.py
