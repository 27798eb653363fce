CUDA_VISIBLE_DEVICES=0 python evaluate.py
torchrun --nproc_per_node=8 train.py
