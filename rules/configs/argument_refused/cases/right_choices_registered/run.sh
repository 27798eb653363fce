torchrun --nproc_per_node=8 train.py --model large --head deep --kind wide --neck curved --size huge
torchrun --nproc_per_node=8 pretrain.py --size giant
