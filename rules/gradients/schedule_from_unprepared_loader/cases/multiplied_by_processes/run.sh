#!/bin/bash
accelerate launch --num_processes 8 train.py --num_train_epochs 15 --lr_scheduler cosine
