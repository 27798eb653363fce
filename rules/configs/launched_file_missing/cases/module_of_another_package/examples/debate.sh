export NCCL_DEBUG=WARN
srun python3 -m theirs.cli.tune_agents --agents 2 2>&1 | tee log.txt  # expect: DL812
