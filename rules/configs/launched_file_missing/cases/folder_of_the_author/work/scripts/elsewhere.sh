cd /home/me/other
torchrun --nproc_per_node 2 work/tune_other.py
