#!/bin/bash
python train.py trainer=one
python train.py trainer=several trainer.max_epochs=10
