torchrun --nproc_per_node=8 pretrain.py --size giant
