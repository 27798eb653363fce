from accelerate import Accelerator, DeepSpeedPlugin


def train(model, optimizer, loader, options):
    plugins = {
        "model": DeepSpeedPlugin(hf_ds_config="plans/zero2.json"),
        "teacher": DeepSpeedPlugin(hf_ds_config="plans/zero3.json"),
    }
    accelerator = Accelerator(deepspeed_plugins=plugins)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for batch in loader:
        accelerator.backward(model(batch).mean())
        if accelerator.sync_gradients:
            accelerator.clip_grad_norm_(model.parameters(), options.norm)
        optimizer.step()
        optimizer.zero_grad()
