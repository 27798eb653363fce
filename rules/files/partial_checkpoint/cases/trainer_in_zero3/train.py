import transformers


def save(trainer: transformers.Trainer, folder: str):
    state = trainer.model.state_dict()  # expect: DL307
    if trainer.args.should_save:
        on_cpu = {name: value.cpu() for name, value in state.items()}
        trainer._save(folder, state_dict=on_cpu)


def main():
    parser = transformers.HfArgumentParser(transformers.TrainingArguments)
    (arguments,) = parser.parse_args_into_dataclasses()
    net = transformers.AutoModelForCausalLM.from_pretrained("base")
    trainer = transformers.Trainer(model=net, args=arguments)
    trainer.train()
    save(trainer, arguments.output_dir)


if __name__ == "__main__":
    main()
