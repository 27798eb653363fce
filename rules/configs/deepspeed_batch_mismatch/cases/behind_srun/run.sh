export CUDA_VISIBLE_DEVICES=0,1
srun --ntasks 4 python train.py
