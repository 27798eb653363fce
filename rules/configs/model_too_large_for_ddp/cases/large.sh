torchrun --nproc_per_node 8 train.py --model_name_or_path meta-llama/Llama-3.1-70B --learning_rate 1e-5  # expect: DL807
