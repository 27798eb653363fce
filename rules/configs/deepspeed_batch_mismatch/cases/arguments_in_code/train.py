from transformers import Trainer, TrainingArguments


def train(model, data):
    args = TrainingArguments(
        "out",
        deepspeed="configs/zero.json",
        per_device_train_batch_size=4,
        gradient_accumulation_steps=2,  # expect: DL803
        learning_rate=2e-5,
    )
    Trainer(model, args, train_dataset=data).train()
