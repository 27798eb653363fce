deepspeed train.py --deepspeed zero2.json --corpora one two
deepspeed --no_local_rank --num_gpus 4 train.py --deepspeed zero2.json
deepspeed --deepspeed zero2.json --corpora one "$PROGRAM"
deepspeed --num_gpuss 4 trainer
deepspeed --module --stage first package.train
deepspeed --num_gpus=4 some-trainer --stage first
deepspeed --version
