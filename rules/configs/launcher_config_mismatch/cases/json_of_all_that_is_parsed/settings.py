from transformers import TrainingArguments


def made_of(args):
    return TrainingArguments(per_device_train_batch_size=2, **vars(args))
