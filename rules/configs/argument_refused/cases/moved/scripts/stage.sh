torchrun --nproc_per_node 8 chat/train/stage.py --stages 2 --plan ./plans/a.txt
