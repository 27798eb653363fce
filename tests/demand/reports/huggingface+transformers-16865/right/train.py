import argparse
import logging

import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader
from transformers import AutoModelForMaskedLM, AutoTokenizer, DataCollatorForLanguageModeling, get_scheduler

from corpus import tokenized

logger = logging.getLogger(__name__)


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model_name_or_path", default="roberta-base")
    parser.add_argument("--per_device_batch_size", type=int, default=8)
    parser.add_argument("--num_train_epochs", type=int, default=3)
    return parser.parse_args()


def main():
    args = parse_args()
    accelerator = Accelerator()
    tokenizer = AutoTokenizer.from_pretrained(args.model_name_or_path)
    model = AutoModelForMaskedLM.from_pretrained(args.model_name_or_path)
    train_dataset, eval_dataset = tokenized(tokenizer)
    collator = DataCollatorForLanguageModeling(tokenizer=tokenizer)
    train_dataloader = DataLoader(train_dataset, shuffle=True, collate_fn=collator, batch_size=args.per_device_batch_size)
    eval_dataloader = DataLoader(eval_dataset, collate_fn=collator, batch_size=args.per_device_batch_size)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-5)
    model, optimizer, train_dataloader, eval_dataloader = accelerator.prepare(
        model, optimizer, train_dataloader, eval_dataloader
    )
    for epoch in range(args.num_train_epochs):
        model.train()
        for batch in train_dataloader:
            accelerator.backward(model(**batch).loss)
            optimizer.step()
            optimizer.zero_grad()
        model.eval()
        losses = []
        for batch in eval_dataloader:
            with torch.no_grad():
                outputs = model(**batch)
            losses.append(accelerator.gather_for_metrics(outputs.loss.repeat(args.per_device_batch_size)))
        eval_loss = torch.mean(torch.cat(losses))
        logger.info(f"epoch {epoch}: eval loss {eval_loss}")


if __name__ == "__main__":
    main()
