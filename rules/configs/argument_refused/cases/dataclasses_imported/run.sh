cd /data/somebody/tuner
torchrun --nproc_per_node 4 /data/somebody/tuner/src/train.py --output_dir out --attention --kind sft
