torchrun --nproc_per_node=8 serve.py --port "$PORT" &

"$@"
torchrun --nproc_per_node=8 train.py \
    --lr 1e-4 \
    "$@"
