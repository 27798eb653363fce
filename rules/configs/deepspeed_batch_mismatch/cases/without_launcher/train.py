from transformers import Trainer, TrainingArguments

args = TrainingArguments(output_dir="out", deepspeed="zero.json")  # expect: DL803
Trainer(model=None, args=args).train()
