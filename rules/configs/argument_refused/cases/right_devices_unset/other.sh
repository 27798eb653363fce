IDS=0,1
CUDA_VISIBLE_DEVICES=$IDS torchrun --nproc_per_node 2 main.py --size small
