./tools/dist_train.sh configs/big.1024.py 8 --work-dir ../big
./tools/dist_named.sh configs/big.1024
./tools/dist_shifted.sh configs/big.1024 configs/big.1024.py
./tools/dist_train.sh $CONFIG 8
./tools/dist_train.sh configs/<name>.py 8
./tools/dist_train.sh /path/to/configs/big 8
