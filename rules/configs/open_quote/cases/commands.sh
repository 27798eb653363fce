# not like `bash -c && run`
srun --nodes=1 bash -c \
    "pip install ray && ray start --head --block" &> head.log &
echo "use bash -c && something"
bash -c 'torchrun --nproc_per_node=8 train.py' && echo done
hash -c && true
torchrun --nproc_per_node=8 train.py
