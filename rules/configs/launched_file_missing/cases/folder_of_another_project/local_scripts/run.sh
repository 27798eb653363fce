cd /home/somebody/project
torchrun --nproc_per_node 8 \
    src/tune.py \
    --deepspeed scripts/zero3.json
