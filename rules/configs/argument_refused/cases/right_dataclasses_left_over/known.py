from transformers import HfArgumentParser, Trainer, TrainingArguments

known, _ = HfArgumentParser(TrainingArguments).parse_known_args()
Trainer(args=TrainingArguments(known.output_dir)).train()
