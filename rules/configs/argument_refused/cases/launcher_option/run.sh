CUDA_VISIBLE_DEVICES=0,1,2,3 torchrun --nnodes 1 --nproc_per_nodes 4 score.py --layers 2  # expect: DL817
torchrun --nodes=1 --nproc-per-node=4 score.py  # expect: DL817
deepspeed --num-gpus 4 score.py  # expect: DL817
accelerate launch -num_processes 4 score.py  # expect: DL817
deepspeed --include localhost:1,0 --num_gpus 2 score.py  # expect: DL817
deepspeed --exclude "localhost:3" --num_nodes 1 score.py  # expect: DL817
accelerate launch --multi_gpu --use_deepspeed --num_processes 4 score.py  # expect: DL817
deepspeed --include localhost:1,0 --num_gpus -1 score.py
deepspeed --include "localhost:0" --master_port 29501 score.py --num_gpus 2
accelerate launch --multi_gpu --num_processes 4 score.py --use_fsdp
