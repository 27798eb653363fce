#!/bin/bash
python train.py
python train.py experiment=reading trainer=one
python train.py model=synchronised trainer=several
python train.py model=unwatched trainer=several
CUDA_VISIBLE_DEVICES=1 python train.py trainer=several
