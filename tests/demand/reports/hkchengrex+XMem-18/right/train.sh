#!/bin/bash
torchrun --master_port 25763 --nproc_per_node=8 train.py --stage 03 --exp_id retrain
