torchrun --nproc_per_node 8 "$PROGRAM"
torchrun --nproc_per_node 8 "$@"
torchrun --nproc_per_node=8 -m package.train
torchrun --nproc_per_node 8 --no-frills train.py
torchrun --nproc_per_node 8 $LAUNCH_ARGS
torchrun --help
