from transformers import Trainer, TrainingArguments


def train(model, data, steps):
    args = TrainingArguments(
        "out",
        deepspeed="configs/zero.json",
        per_device_train_batch_size=2,
        gradient_accumulation_steps=steps,
        learning_rate=0.00002,
    )
    Trainer(model, args, train_dataset=data).train()
