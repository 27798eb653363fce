FOLDER="your folder (of pictures)"
torchrun --nproc_per_node 4 train.py --folder $FOLDER --sizes 224 384 --out runs/$NAME-$TAG/last
torchrun --nproc_per_node 4 tune.py --rate 1e-3 /data/pictures
