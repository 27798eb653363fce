python -m torch.distributed.launch --nproc_per_node=$1 \
    $(dirname "$0")/analysis/mot/search.py $2  # expect: DL812
