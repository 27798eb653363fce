pip install deepspeed accelerate
# python -m torch.distributed.launch train.py
