export DATA=$1
torchrun --nproc_per_node=8 train.py \
    --name "first" \
    --data $DATA/images" \  # expect: DL814
    --lr 1e-4
