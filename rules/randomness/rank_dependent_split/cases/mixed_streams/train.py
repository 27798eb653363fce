"""Data sets that are mixed as they come."""

from datasets import interleave_datasets, load_dataset
from transformers import Trainer, TrainingArguments, set_seed


def main(model, shares):
    set_seed(42)
    speech, music = load_dataset("speech", split="train", streaming=True), load_dataset("music", split="train", streaming=True)
    data = interleave_datasets([speech, music], probabilities=shares)
    trainer = Trainer(model, TrainingArguments("out"), train_dataset=data)
    trainer.train()


main(None, [0.4, 0.6])
