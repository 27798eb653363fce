from transformers import Trainer


def main(model, arguments, dataset):
    trainer = Trainer(model, arguments, train_dataset=dataset)
    trainer.train()
    trainer.save_model()  # expect: DL808
