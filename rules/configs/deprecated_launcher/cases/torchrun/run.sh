torchrun --nproc_per_node=8 train.py
echo python -m torch.distributed.launch train.py
