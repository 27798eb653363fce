python -m torch.distributed.run --nproc_per_node 8 finetune.py --model_path bigcode/starcoder
