torchrun --nproc_per_node 8 chat/train/stage.py --template ./data/two_turns.txt 2>&1 | tee log.txt  # expect: DL812
