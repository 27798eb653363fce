torchrun --nproc_per_node=8 train.py --name first
echo 'done  # expect: DL814
