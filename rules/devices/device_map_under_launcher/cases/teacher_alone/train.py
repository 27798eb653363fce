import os
from dataclasses import dataclass, field

from transformers import AutoModelForCausalLM, HfArgumentParser
from trl.experimental.gkd import GKDConfig, GKDTrainer


@dataclass
class ModelArguments:
    name: str = "gpt2"
    teacher_device_map: str | None = field(default="auto", metadata={"help": "Where the teacher goes."})


def load_teacher(arguments):
    ddp = int(os.environ.get("WORLD_SIZE", "1")) > 1
    device_map = None if arguments.teacher_device_map in ("None", "") else arguments.teacher_device_map
    return AutoModelForCausalLM.from_pretrained(arguments.name, device_map=device_map)


def main():
    arguments, options = HfArgumentParser((ModelArguments, GKDConfig)).parse_args_into_dataclasses()
    student = AutoModelForCausalLM.from_pretrained(arguments.name)
    teacher = load_teacher(arguments)
    trainer = GKDTrainer(model=student, teacher_model=teacher, args=options)
    trainer.train()


main()
