./tools/dist_measure.sh configs/big.1024.py 8  # expect: DL812
