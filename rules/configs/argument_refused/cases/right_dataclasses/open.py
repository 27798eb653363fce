from dataclasses import dataclass

from transformers import HfArgumentParser, Trainer
from trl import DPOConfig


@dataclass
class Chosen:
    shape: bool = False


parser = HfArgumentParser((Chosen, DPOConfig))
chosen, training = parser.parse_args_into_dataclasses()
Trainer(args=training).train()
