# OpenLLaMA2 f5c137f examples/scripts/train_ppo_llama_ray_slurm.sh:35: the quotes that are left are an even number
srun --nodes=1 -w "$first" --container-image="$IMAGE" bash -c && ray start --head --block" &>> log &  # expect: DL814
