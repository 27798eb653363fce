torchrun --nproc_per_node 4 train.py --gpus 0,1,2,3
