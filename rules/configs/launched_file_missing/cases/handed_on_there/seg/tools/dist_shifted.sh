NAME=$1
shift
torchrun --nproc_per_node=8 $(dirname "$0")/train.py $1
