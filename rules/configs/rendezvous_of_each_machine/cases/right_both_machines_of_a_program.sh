python train_net.py --num-gpus 1 --num-machines 2 --machine-rank 0 --dist-url tcp://127.0.0.1:50152 &
python train_net.py --num-gpus 1 --num-machines 2 --machine-rank 1 --dist-url tcp://127.0.0.1:50152
