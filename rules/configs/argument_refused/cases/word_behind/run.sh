DATA=/data/pictures
torchrun --nproc_per_node 4 train.py --folder= "$DATA" --rate 1e-3
