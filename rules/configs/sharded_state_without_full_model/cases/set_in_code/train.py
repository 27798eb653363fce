from transformers import Trainer, TrainingArguments


def main(model, data):
    trainer = Trainer(model, TrainingArguments("out"), train_dataset=data)
    trainer.train()
    trainer.accelerator.state.fsdp_plugin.set_state_dict_type("FULL_STATE_DICT")
    trainer.save_model("out/model")
