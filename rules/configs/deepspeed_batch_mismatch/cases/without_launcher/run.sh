export CUDA_VISIBLE_DEVICES=0,1,2,3
python -u train.py --lr 1e-4 2>&1 | tee log
