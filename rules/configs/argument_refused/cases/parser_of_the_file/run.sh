torchrun --nproc_per_node=8 segment.py --batch_size=2 --num_steps=30000
