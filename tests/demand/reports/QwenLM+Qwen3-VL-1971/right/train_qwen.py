from dataclasses import dataclass, field

import transformers
from transformers import AutoProcessor, Qwen2VLForConditionalGeneration, Trainer, TrainingArguments

from data_qwen import LazySupervisedDataset


@dataclass
class DataArguments:
    dataset_use: str = field(default="coco,refcoco")


@dataclass
class ModelArguments:
    model_name_or_path: str = field(default="Qwen/Qwen2-VL-2B-Instruct")


def train():
    parser = transformers.HfArgumentParser((ModelArguments, DataArguments, TrainingArguments))
    model_args, data_args, training_args = parser.parse_args_into_dataclasses()
    model = Qwen2VLForConditionalGeneration.from_pretrained(model_args.model_name_or_path)
    processor = AutoProcessor.from_pretrained(model_args.model_name_or_path)
    dataset = LazySupervisedDataset(processor, data_args)
    trainer = Trainer(model=model, args=training_args, train_dataset=dataset)
    trainer.train()
    trainer.save_model(training_args.output_dir)


if __name__ == "__main__":
    train()
