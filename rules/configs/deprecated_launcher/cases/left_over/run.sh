export CUDA_VISIBLE_DEVICES=0,1
python evaluate.py --device cuda:1
