export CUDA_VISIBLE_DEVICES="0,1,2,3,4,5"
/usr/bin/python3.12 src/tune.py > log 2>&1
