export MASTER_ADDR=10.0.0.1
# LanguageBind 7070c53 scripts/audio_language/train.sh:6
torchrun --nnodes=2 --nproc_per_node 8 train.py  # expect: DL810
torchrun --nnodes 2 --nproc_per_node 8 --node_rank 0 train.py  # expect: DL810
torchrun --nnodes 2 --nproc_per_node 8 --master_addr 10.0.0.1 train.py  # expect: DL810
python -m torch.distributed.launch --use_env --nnodes 4 --nproc_per_node 8 --node_rank $I train.py  # expect: DL810
torchrun --nnodes=2 --nproc_per_node 8 --rdzv_backend=c10d --rdzv_id=7 train.py  # expect: DL810
