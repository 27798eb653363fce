torchrun --nproc_per_node 8 main.py model.width=4 training.plan.warmup=3 training.warmup=2
