torchrun --rdzv_id "# expect: DL814" --nproc_per_node=8 \ 
    train.py \
    --lr 1e-4
