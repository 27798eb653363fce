torchrun --nproc_per_node=8 train.py --master_port 123456
