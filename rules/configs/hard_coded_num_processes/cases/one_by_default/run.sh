CUDA_VISIBLE_DEVICES=0,1 torchrun --standalone train.py  # expect: DL801
