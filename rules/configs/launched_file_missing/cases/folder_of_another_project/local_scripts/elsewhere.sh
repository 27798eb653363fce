cd /home/somebody/another
torchrun --nproc_per_node 8 main.py --deepspeed settings/zero3.json
