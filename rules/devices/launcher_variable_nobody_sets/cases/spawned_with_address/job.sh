#!/bin/bash
export MASTER_ADDR=localhost
export MASTER_PORT=29500
python train.py
