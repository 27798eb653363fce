CUDA_VISIBLE_DEVICES=0,1 torchrun --standalone --nproc_per_node=2 train.py
CUDA_VISIBLE_DEVICES=0 torchrun --standalone train.py
CUDA_VISIBLE_DEVICES=0,1 torchrun $LAUNCHER_ARGS train.py
CUDA_VISIBLE_DEVICES=0,1 PET_NPROC_PER_NODE=2 torchrun --standalone train.py
CUDA_VISIBLE_DEVICES=0,1 python train.py
