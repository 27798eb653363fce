python3 retrieve.py --result results.json
torchrun --nproc_per_node=4 retrieve.py --result results.json
