torchrun --nproc_per_node 8 tools/embed.py "$@"  # expect: DL812
