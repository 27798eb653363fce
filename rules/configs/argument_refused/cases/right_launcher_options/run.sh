torchrun --nnodes 1 --nproc-per-node 4 --rdzv-backend=c10d score.py --nproc_per_nodes 3
torchrun --standalone --nproc 4 score.py
torchrun --nproc_per_node 4 -m score --node_ranks 1
torchrun $FOLDER/score.py --module_names a --node_ranks 1
torchrun --npu_blocks_per_chip 4 score.py
accelerate launch --num-processes 4 --fsdp_backward_prefetch_policy BACKWARD_PRE score.py
deepspeed --num_gpus 4 -H hosts score.py --num-gpu 1
echo torchrun --nproc_per_nodes 4 score.py
