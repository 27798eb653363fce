RESUME=""
torchrun --nproc_per_node 4 train.py --rate $RATE --resume $RESUME --quiet --layers --out "$OUT"
torchrun --nproc_per_node 4 train.py --rate -1 --out $@
