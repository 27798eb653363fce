export CUDA_VISIBLE_DEVICES=0,1
for i in 1 2 3; do
  python main.py --quick > log &
done
wait
