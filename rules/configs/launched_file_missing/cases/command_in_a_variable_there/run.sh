#!/bin/bash
CMD="train.py \
    --lr $LR"
if [ "$FAST" = true ]; then
    CMD="$CMD --fast"
fi
if [ $GPUS -gt 1 ]; then
    eval "torchrun --nproc_per_node=$GPUS $CMD"
else
    eval "python $CMD"
fi
