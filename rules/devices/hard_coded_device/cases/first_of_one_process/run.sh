#!/bin/bash
deepspeed --master_port 29500 \
  --include localhost:0 \
  evaluate.py
