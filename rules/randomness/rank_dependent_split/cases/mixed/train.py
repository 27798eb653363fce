"""Data sets that are mixed by a draw of each process."""

from datasets import interleave_datasets, load_dataset
from transformers import Trainer, TrainingArguments, set_seed


def main(model, shares):
    set_seed(42)
    speech, music = load_dataset("speech", split="train"), load_dataset("music", split="train")
    data = interleave_datasets([speech, music], probabilities=shares)  # expect: DL405
    trainer = Trainer(model, TrainingArguments("out"), train_dataset=data)
    trainer.train()


main(None, [0.4, 0.6])
