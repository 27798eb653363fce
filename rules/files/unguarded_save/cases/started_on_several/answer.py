"""What stands behind `train()`, in a method of the project's own: textgen 172fc00 textgen/gpt/gpt_model.py:492."""

from transformers import AutoModel, Trainer, TrainingArguments


class Checked(Trainer):
    def compute_loss(self, model, inputs):
        return model(**inputs).loss


class Answering:
    def __init__(self, name, checked):
        self.model = AutoModel.from_pretrained(name)
        self.checked = checked

    def learn(self, data):
        told = TrainingArguments(output_dir="answers")
        if self.checked:
            trainer = Checked(self.model, told, train_dataset=data)
        else:
            trainer = Trainer(self.model, told, train_dataset=data)
        trainer.train()
        self.keep("answers")

    def keep(self, folder):
        self.model.save_pretrained(folder)  # expect: DL301


def main():
    answering = Answering("base", True)
    answering.learn(open("data.txt").read())


if __name__ == "__main__":
    main()
