source activate py3.8_pt1.8.1
python -m torch.distributed.launch --nproc_per_node=8 train.py  # expect: DL805
