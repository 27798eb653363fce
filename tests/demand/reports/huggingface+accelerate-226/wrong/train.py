import argparse

import evaluate
import torch
from accelerate import Accelerator
from datasets import load_dataset
from torch.utils.data import DataLoader
from transformers import AutoModelForSequenceClassification, AutoTokenizer, DataCollatorWithPadding


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="bert-base-cased")
    parser.add_argument("--lr", type=float, default=2e-5)
    args = parser.parse_args()
    accelerator = Accelerator()
    tokenizer = AutoTokenizer.from_pretrained(args.model)
    raw = load_dataset("ag_news")
    data = raw.map(lambda e: tokenizer(e["text"], truncation=True), batched=True, remove_columns=["text"])
    data = data.rename_column("label", "labels")
    collate = DataCollatorWithPadding(tokenizer)
    train_loader = DataLoader(data["train"], shuffle=True, batch_size=16, collate_fn=collate)
    eval_loader = DataLoader(data["test"], batch_size=32, collate_fn=collate)
    model = AutoModelForSequenceClassification.from_pretrained(args.model, num_labels=4)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    model, optimizer, train_loader, eval_loader = accelerator.prepare(model, optimizer, train_loader, eval_loader)
    metric = evaluate.load("accuracy")
    for epoch in range(3):
        model.train()
        for batch in train_loader:
            accelerator.backward(model(**batch).loss)
            optimizer.step()
            optimizer.zero_grad()
        model.eval()
        for batch in eval_loader:
            with torch.no_grad():
                outputs = model(**batch)
            predictions = outputs.logits.argmax(dim=-1)
            metric.add_batch(
                predictions=accelerator.gather(predictions),
                references=accelerator.gather(batch["labels"]),
            )
        accelerator.print(f"epoch {epoch}:", metric.compute())


if __name__ == "__main__":
    main()
