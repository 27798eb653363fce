export starter="torchrun --nproc_per_node 8"
$starter train.py --deepspeed zero2.json --stage first
