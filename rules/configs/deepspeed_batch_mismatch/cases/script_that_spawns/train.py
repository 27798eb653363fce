import subprocess

subprocess.run(["deepspeed", "worker.py"], check=True)
from transformers import Trainer, TrainingArguments

args = TrainingArguments(output_dir="out", deepspeed="zero.json")
Trainer(model=None, args=args).train()
