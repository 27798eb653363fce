from dataclasses import dataclass, field
from typing import Literal, Optional

from transformers import HfArgumentParser, Trainer, TrainingArguments


@dataclass
class Update:
    rank_of_update: Optional[int] = field(default=8)


@dataclass
class Chosen(Update):
    kind: Literal["sft", "dpo"] = "sft"
    kernel: str | None = None
    plot: bool = True


parser = HfArgumentParser((Chosen, TrainingArguments))
chosen, training = parser.parse_args_into_dataclasses()  # expect: DL817
Trainer(args=training).train()
