torchrun --nproc_per_node=8 train.py --data corpus  # expect: DL814
    # how fast
    --lr 1e-4 \
    # where it goes
    --out result
