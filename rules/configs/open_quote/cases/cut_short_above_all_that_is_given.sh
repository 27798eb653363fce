torchrun --nproc_per_node=8 train.py --images pictures --no-compile  # expect: DL814
# --adapter base \
"$@"
