python measure.py --data_sets=a --world_size 4
