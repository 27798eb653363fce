RENDEZVOUS=$(( (RANDOM % 1000) + 29500 ))
echo $RENDEZVOUS
torchrun --nnodes=2 --node-rank="$N" --master-addr=$HEAD --master-port=${RENDEZVOUS} train.py  # expect: DL810
