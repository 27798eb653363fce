from transformers import Trainer, TrainingArguments


def train(model, data):
    arguments = TrainingArguments(
        "out",
        deepspeed="zero3.json",
        max_grad_norm=0.3,  # expect: DL815
    )
    Trainer(model, arguments, train_dataset=data).train()
