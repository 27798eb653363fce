deepspeed --include localhost:0,1 train.py --lr 1e-5
