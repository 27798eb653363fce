for f in lists/*; do
    CUDA_VISIBLE_DEVICES=$1 python3 retrieve.py --result results/$f.json
done
