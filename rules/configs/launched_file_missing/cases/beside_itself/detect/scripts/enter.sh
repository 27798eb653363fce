cd "$(dirname "$0")/.."
torchrun --nproc_per_node 8 tools/check.py  # expect: DL812
torchrun --nproc_per_node 8 tools/make_noise.py
