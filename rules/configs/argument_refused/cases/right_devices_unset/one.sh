CUDA_VISIBLE_DEVICES=$CARDS torchrun --nproc_per_node 2 main.py --size large
