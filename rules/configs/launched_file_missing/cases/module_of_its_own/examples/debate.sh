srun python3 -m torch.distributed.run --nproc_per_node 8 -m ours.cli.tune_agents --agents 2
srun python3 -m theirs.cli.tune_others --agents 2
srun python3 -m copied.cli.tune_agents --agents 2
