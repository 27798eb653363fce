from CTCLIPTrainer import CTClipTrainer
from ct_clip import CTCLIP


if __name__ == "__main__":
    trainer = CTClipTrainer(CTCLIP(), num_train_steps=100_001, batch_size=8, data_train="train_preprocessed")
    trainer.train()
