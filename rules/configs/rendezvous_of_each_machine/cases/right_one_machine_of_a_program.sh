python tools/run_net.py --init_method tcp://localhost:9999 --num_shards 1 NUM_GPUS 8
python tools/test_net.py --init_method "tcp://$HEAD:9999" --num_shards 4 NUM_GPUS 8
python main_moco.py --dist-url tcp://localhost:10001 --world-size 1 --rank 0 --multiprocessing-distributed
python worker.py --dist-url tcp://localhost:10001 --world-size 8 --rank "$RANK"
python tools/train_net.py --init_method tcp://localhost:9999 --num_shards 4 "$@"
