torchrun --nproc_per_node=8 $(dirname "$0")/named.py $1
