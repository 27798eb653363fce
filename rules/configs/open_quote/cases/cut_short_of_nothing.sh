deepspeed --include localhost:0,1 \
    tune.py  # the last arguments are not wanted now: a comment loses nothing
    # --lr 1e-4 \
    # --out old
echo done
