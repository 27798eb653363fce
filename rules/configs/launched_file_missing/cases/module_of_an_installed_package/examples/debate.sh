pip install theirs
torchrun --nproc_per_node 8 -m theirs.cli.tune_agents --agents 2
