from transformers import TrainingArguments

waves = TrainingArguments(
    output_dir="out",
    deepspeed="zero.json",
    lr_scheduler_type="cosine",  # expect: DL813
)
line = TrainingArguments(output_dir="out", deepspeed="zero.json", lr_scheduler_type="linear")
open_ = TrainingArguments(output_dir="out", deepspeed="zero.json")
