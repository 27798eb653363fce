torchrun --nproc_per_node 8 train.py --model EleutherAI/pythia-1.4b --lr 1e-4
torchrun --nproc_per_node 8 train.py --model my-model-b4 --lr 1e-4
torchrun --nproc_per_node 8 train.py --model Qwen/Qwen2.5-7B --lr 1e-4 --torch_dtype bfloat16
