PORT=${1:-29500}
torchrun --nproc_per_node=8 train.py --port "$PORT"  # expect: DL814

    --lr 1e-4
