python3 -m ours.cli.tune_agents --agents 2
