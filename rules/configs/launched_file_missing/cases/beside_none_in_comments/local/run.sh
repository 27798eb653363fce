# python tune.py
cd ~/transformers/examples
torchrun --nproc_per_node=4 run_mlm.py
