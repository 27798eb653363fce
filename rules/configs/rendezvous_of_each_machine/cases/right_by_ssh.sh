PORT=$((20000 + RANDOM % 10000))
for n in 0 1; do
  ssh host$n torchrun --nnodes 2 --node_rank $n --master_addr host0 --master_port $PORT train.py &
done
