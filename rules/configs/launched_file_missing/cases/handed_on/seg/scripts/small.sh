bash tools/dist_train.sh configs/small.py 8  # expect: DL812
