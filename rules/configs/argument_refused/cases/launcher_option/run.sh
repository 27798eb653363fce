CUDA_VISIBLE_DEVICES=0,1,2,3 torchrun --nnodes 1 --nproc_per_nodes 4 score.py --layers 2  # expect: DL817
torchrun --nodes=1 --nproc-per-node=4 score.py  # expect: DL817
deepspeed --num-gpus 4 score.py  # expect: DL817
accelerate launch -num_processes 4 score.py  # expect: DL817
