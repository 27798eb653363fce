torchrun --nproc_per_node 8 main.py model.width=4 training.plan.warmup=3 training.epochs=2
torchrun --nproc_per_node 8 main.py model=other model.depth=4
torchrun --nproc_per_node 8 main.py experiment=first training.seed=4
torchrun --nproc_per_node 8 main.py $CHOSEN training.seed=4
