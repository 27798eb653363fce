from accelerate import Accelerator, DeepSpeedPlugin


def train(model, optimizer, loader, options):
    plugin = DeepSpeedPlugin(hf_ds_config="plans/zero2.json")
    accelerator = Accelerator(deepspeed_plugin=plugin)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for batch in loader:
        accelerator.backward(model(batch).mean())
        if accelerator.sync_gradients:
            accelerator.clip_grad_norm_(model.parameters(), options.norm)  # expect: DL815
        optimizer.step()
        optimizer.zero_grad()
