#!/bin/bash
CUDA_VISIBLE_DEVICES=0,1 python train_net.py --config-file a.yaml --num-gpus 2 &
CUDA_VISIBLE_DEVICES=2,3 python train_net.py --config-file b.yaml --num-gpus 2 --dist-url tcp://127.0.0.1:49153 &
wait
