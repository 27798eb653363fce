./tools/dist_train.sh configs/big.1024 8 --work-dir ../big  # expect: DL812
