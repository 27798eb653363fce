SIZES="480 720"
PLAIN="\
  torchrun --nproc_per_node 8 \
    training/prepare.py --sizes $SIZES"  # expect: DL812
ENCODED="$PLAIN --encode"
COMMAND=$ENCODED

echo "running: $COMMAND"
eval $COMMAND
