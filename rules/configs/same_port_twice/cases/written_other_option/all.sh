CUDA_VISIBLE_DEVICES=0,1 python main.py --lr 0.1 &
CUDA_VISIBLE_DEVICES=2,3 python main.py --dist-url tcp://localhost:23457
wait
