set -x

read -r -d '' command <<EOF
ours.cli.tune_ray \
   --epochs 1 \
   --lr 5e-7
EOF

if [[ $1 != "slurm" ]]; then
    deepspeed --module $command
fi
