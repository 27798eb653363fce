#!/bin/bash
CUDA_VISIBLE_DEVICES=0,1 python train_net.py --config-file a.yaml --num-gpus 2 &
CUDA_VISIBLE_DEVICES=2,3 python train_net.py --config-file b.yaml --num-gpus 2 &
wait
