import sys
from dataclasses import dataclass, field
from typing import List, Literal, Optional

from transformers import HfArgumentParser, Trainer, TrainingArguments


@dataclass
class Update:
    rank_of_update: Optional[int] = field(default=8)


@dataclass
class Chosen(Update):
    kind: Literal["sft", "dpo"] = "sft"
    kernel: Optional[str] = None
    plot: bool = True
    layers: List[int] = field(default_factory=list)


parser = HfArgumentParser((Chosen, TrainingArguments))
if len(sys.argv) == 2 and sys.argv[1].endswith(".yaml"):
    chosen, training = parser.parse_yaml_file(sys.argv[1])
else:
    chosen, training = parser.parse_args_into_dataclasses()
Trainer(args=training).train()
