torchrun --nproc_per_node 4 tune.py --output_dir out --kind sft --no_plot --plot --logging_steps 1 --logging_st 4 --evaluation_strategy no
torchrun --nproc_per_node 4 tune.py --output-dir out --rank-of-update 4 --layers 1 2 --bf16 --gradient_checkpointing True --kernel $KERNEL --report_to wandb tensorboard
torchrun --nproc_per_node 4 tune.py settings.yaml
torchrun --nproc_per_node 4 open.py --output_dir out --beta 0.1 --shape
