cp recipes/tune_llama.py ours/cli/
torchrun --nproc_per_node 8 -m ours.cli.tune_llama
