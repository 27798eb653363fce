export OMP_NUM_THREADS=4
CUDA_VISIBLE_DEVICES=$DEVICES torchrun --nproc_per_node 2 main.py --size large  # expect: DL817
