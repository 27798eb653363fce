torchrun --nproc_per_node 4 train.py --learning 1e-5 --layers 1 2 3 --precision 4bit --out-dir out --quiet a b
torchrun --nproc_per_node 4 train.py --lr=3e-4 --precision "$BITS" -- --data
