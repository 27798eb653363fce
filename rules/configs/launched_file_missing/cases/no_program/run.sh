torchrun --nproc_per_node=4 --master_port=29511 --text corpus.txt --out_dir "$HOME/out"  # expect: DL812
