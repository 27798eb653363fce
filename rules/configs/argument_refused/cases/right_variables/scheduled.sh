MACHINE_RANKS=8
torchrun --nproc_per_node $CARDS --nnodes $MACHINES --node_rank $MACHINE_RANK tune.py
