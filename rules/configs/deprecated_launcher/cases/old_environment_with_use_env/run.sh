conda activate torch1.8
python -m torch.distributed.launch --nproc_per_node=8 --use_env train.py
