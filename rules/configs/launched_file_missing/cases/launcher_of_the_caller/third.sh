$PYTHON train.py --deepspeed zero2.json --stage second
