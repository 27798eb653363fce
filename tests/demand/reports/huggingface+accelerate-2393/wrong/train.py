import argparse

import torch
from accelerate import Accelerator
from datasets import load_dataset
from torch.utils.data import DataLoader
from transformers import AutoModelForSequenceClassification, AutoTokenizer, default_data_collator


def get_dataloaders(tokenizer, batch_size):
    data = load_dataset("imdb", split="train")
    data = data.map(lambda e: tokenizer(e["text"], truncation=True, padding="max_length", max_length=256), batched=True)
    data = data.train_test_split(test_size=0.1)
    columns = ["input_ids", "attention_mask", "label"]
    data.set_format("torch", columns=columns)
    train = DataLoader(data["train"], batch_size=batch_size, shuffle=True, collate_fn=default_data_collator)
    evaluation = DataLoader(data["test"], batch_size=batch_size, collate_fn=default_data_collator)
    return train, evaluation


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="distilbert-base-uncased")
    parser.add_argument("--batch_size", type=int, default=16)
    args = parser.parse_args()
    accelerator = Accelerator()
    tokenizer = AutoTokenizer.from_pretrained(args.model)
    train_loader, eval_loader = get_dataloaders(tokenizer, args.batch_size)
    model = AutoModelForSequenceClassification.from_pretrained(args.model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-5)
    model, optimizer, train_loader, eval_loader = accelerator.prepare(model, optimizer, train_loader, eval_loader)
    for epoch in range(3):
        model.train()
        for batch in train_loader:
            accelerator.backward(model(**batch).loss)
            optimizer.step()
            optimizer.zero_grad()
        model.eval()
        losses = []
        for batch in eval_loader:
            with torch.no_grad():
                loss = model(**batch).loss
            losses.append(accelerator.gather_for_metrics(loss.repeat(args.batch_size)))
        accelerator.print(f"epoch {epoch}: {torch.cat(losses).mean():.4f}")


if __name__ == "__main__":
    main()
