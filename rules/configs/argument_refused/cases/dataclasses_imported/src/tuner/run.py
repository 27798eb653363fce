import sys
from dataclasses import dataclass

from transformers import HfArgumentParser, Seq2SeqTrainingArguments, Trainer

from .chosen import Model


@dataclass
class Stage:
    kind: str = "sft"


_FOR_TRAINING = [Model, Stage, Seq2SeqTrainingArguments]


def run():
    parser = HfArgumentParser(_FOR_TRAINING)
    if len(sys.argv) == 2 and sys.argv[1].endswith(".yaml"):
        parsed = parser.parse_yaml_file(sys.argv[1])
    else:
        (*parsed, left) = parser.parse_args_into_dataclasses(  # expect: DL817
            return_remaining_strings=True
        )
        if left:
            raise ValueError(left)
    Trainer(args=parsed[-1]).train()
