torchrun --nproc_per_node 4 tune.py \
    --tokens configs/tokens.yaml --model configs/large  # expect: DL812
