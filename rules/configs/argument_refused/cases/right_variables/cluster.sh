# SEED 93b3cf4 MultiModalLLM/scripts/train_a100_lora_multi_node_sft.sh: the library reads it
export NCCL_IB_GID_INDEX=3
torchrun --nproc_per_node 8 --nnodes 2 --node_rank $INDEX tune.py
