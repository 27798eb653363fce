#!/bin/bash
python train.py trainer=several
python train.py experiment=reading
python train.py model=apart trainer=one
