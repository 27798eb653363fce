shards=4
python tools/run_net.py --init_method tcp://localhost:9999 --num_shards $shards NUM_GPUS 8  # expect: DL810
python train_net.py --num-gpus 8 --num-machines 2 --machine-rank "$RANK_OF_MACHINE" --dist-url tcp://127.0.0.1:50152  # expect: DL810
