# poolformer a075575 detection/dist_train.sh:8: there it is port 1131, and a warning.
torchrun --master_port=66667 train.py  # expect: DL806
