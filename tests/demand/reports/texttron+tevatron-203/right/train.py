from transformers import HfArgumentParser, TrainingArguments

from retrieval import DenseModel, TrainDataset
from trainer import TevatronTrainer


def main():
    (training_args,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()
    model = DenseModel.build("mistralai/Mistral-7B-v0.1")
    trainer = TevatronTrainer(model=model, args=training_args, train_dataset=TrainDataset())
    trainer.train()
    trainer.save_model()


if __name__ == "__main__":
    main()
