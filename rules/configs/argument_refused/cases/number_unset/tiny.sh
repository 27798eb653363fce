bat=2
torchrun --nproc_per_node=$nod main.py --size tiny --batch_size $bat  # expect: DL817
