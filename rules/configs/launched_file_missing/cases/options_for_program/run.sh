deepspeed --deepspeed zero2.json --stage first --corpora one two three --epochs 5  # expect: DL812
torchrun --nproc_per_node 8 --deepspeed zero2.json --corpora one two  # expect: DL812
