if [ -n "$MASTER_ADDR" ]; then
    starter="torchrun --nproc_per_node 8 --nnodes $SLURM_NNODES --master_addr $MASTER_ADDR"
else
    starter="torchrun --nproc_per_node 8"
fi
${starter} train.py --deepspeed zero2.json --stage first
