torchrun --nproc_per_node 8 sample.py --max-size 64 --model-path "$MODEL"
