read -r -d '' command <<EOF
$MODULE --epochs 1
EOF
read -r -d '' other <<'EOF'
ours.cli.tune_ray --name a\ b
EOF
read -r line <<EOF
ours.cli.of_no_variable
EOF
deepspeed --module $command
deepspeed --module $other
deepspeed --module $line
torchrun --nproc_per_node 8 -m theirs.cli.tune
torchrun --nproc_per_node 8 -m ours.data.shards
torchrun --nproc_per_node 8 -m ours.later.tune
torchrun --nproc_per_node 8 -m ours.nets.gpt
