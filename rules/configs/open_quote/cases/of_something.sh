# `bash -c` in a comment, in a text, and with its command
echo "see bash -c" && srun bash -c "torchrun train.py"
srun bash -c \
    "torchrun --nproc_per_node 8 train.py"
srun bash -lc 'torchrun train.py' && true
