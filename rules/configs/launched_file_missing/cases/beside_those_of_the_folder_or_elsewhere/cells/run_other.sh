cd $WORK/other
torchrun --nproc_per_node=4 tune_other.py
