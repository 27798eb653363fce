torchrun --nproc_per_node=4 python3 train.py --epochs 3  # expect: DL812
accelerate launch --num_processes 4 python train.py  # expect: DL812
