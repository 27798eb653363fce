CUDA_VISIBLE_DEVICES=$GPUS_HERE torchrun --nproc_per_node 2 main.py --size large
