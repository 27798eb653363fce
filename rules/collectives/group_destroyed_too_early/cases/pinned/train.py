"""With the accelerate that this project pins, `end_training()` ends the trackers alone."""

from accelerate import Accelerator


def main(args, model):
    accelerator = Accelerator(log_with="wandb")
    model = accelerator.prepare(model)
    accelerator.end_training()
    accelerator.wait_for_everyone()
    accelerator.unwrap_model(model).save_pretrained(args.output_dir)
