srun --nodes=1 -w "$HEAD" --export="$ALL" bash -c && ray start --head --port=6379 --block" &> head.log &  # expect: DL814
srun --nodes=1 -w "$OTHER" /bin/bash -c ; ray start --address "$ADDRESS" --block" &> worker.log &  # expect: DL814
torchrun --nproc_per_node=8 train.py
