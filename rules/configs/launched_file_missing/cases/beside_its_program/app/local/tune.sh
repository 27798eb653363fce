torchrun --nproc_per_node 4 src/tune.py --deepspeed scripts/zero3.json --config plans/large.yaml
