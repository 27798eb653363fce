torchrun --nproc_per_node 8 -m ours.cli.tune_agents --agents 2
