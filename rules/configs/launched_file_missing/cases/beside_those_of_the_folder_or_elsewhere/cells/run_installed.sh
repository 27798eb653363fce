cd /opt/other
torchrun --nproc_per_node=4 tune_installed.py
