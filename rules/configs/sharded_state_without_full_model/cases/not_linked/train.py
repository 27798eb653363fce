from transformers import Trainer, TrainingArguments


def main(model, data):
    trainer = Trainer(model, TrainingArguments("out"), train_dataset=data)
    trainer.train()
    trainer.save_model("out/model")
