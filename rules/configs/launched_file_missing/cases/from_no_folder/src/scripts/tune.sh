torchrun --nproc_per_node 4 \
    src/open/tune.py --deepspeed src/app/plans/zero1.json 2>&1 | tee out/log.txt  # expect: DL812
