python -m torch.distributed.run --nproc_per_node=1 train.py --deepspeed --deepspeed_config half.json
