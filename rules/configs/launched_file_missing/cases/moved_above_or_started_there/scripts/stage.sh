torchrun --nproc_per_node 8 chat/train/stage.py --template ./data/two_turns.txt --out out/a.txt
