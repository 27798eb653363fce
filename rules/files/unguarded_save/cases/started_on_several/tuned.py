"""A job whose paths are another machine's: Fengshenbang-LM c8fb7b8 fengshen/examples/wenzhong_qa/finetune_medicalQA.py:157."""

import argparse

from pytorch_lightning import Trainer
from transformers import AutoModel


def main(args):
    model = AutoModel.from_pretrained("base")
    trainer = Trainer.from_argparse_args(args)
    trainer.fit(model)
    model.save_pretrained("/home/somebody/models")  # expect: DL301


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--max_epochs")
    main(parser.parse_args())
